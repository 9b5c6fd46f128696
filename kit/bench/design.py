"""What a benchmark does, as values: the stacks that run, the loads sent to them, and how they are compared.

An experiment is a value before it runs: it can be printed, estimated and tested without a container.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from kit.bench.load import LoadSpec
from kit.manifest.model import Manifest
from kit.memory.bill import Plan

Better = Literal["higher", "lower"]
AS_GIVEN = "as given"
ALL = "all"


@dataclass(frozen=True)
class StackVariant:
    """A stack that the benchmark runs. With `recreate` it is started for the trial and that start is measured; with
    `cold` it is started without the compile caches of earlier starts."""

    key: str
    manifest: Manifest
    recreate: bool = False
    cold: bool = False


@dataclass(frozen=True)
class Metric:
    """What a comparison takes from a run: a figure ("tokens", "requests", "goodput", "ttft.p50", ...) of a model, or of
    all models together where `model` is ""; "seconds" is how long the stack took to start."""

    figure: str
    model: str = ""


@dataclass(frozen=True)
class Trial:
    """Loads that are sent at the same time to a stack variant, repeated once a round. `seconds` is how long a run
    should take: a pilot sets the loads' counts; 0 keeps the counts as they are. Trials of one `group` get the same
    counts, so that the slowest of them on the group's first variant takes `seconds`."""

    key: str
    variant: StackVariant
    loads: tuple[LoadSpec, ...] = ()
    seconds: float = 0.0
    group: str = ""


@dataclass(frozen=True)
class View:
    """A comparison of trials before they run. An arm is its name, its trial's key, and its place on the axis."""

    name: str
    condition: str
    unit: str
    better: Better
    value: Metric
    arms: tuple[tuple[str, str, float | None], ...]
    kind: Literal["arms", "curve"] = "arms"
    axis: str = ""


@dataclass(frozen=True)
class Protocol:
    """An experiment before it runs. A round goes through all variants, and on each of them `inner` times through its
    trials: with two trials that is A B A B. `constant` is what does not vary; `remarks` say what is left out and why.
    """

    name: str
    question: str
    varies: str
    constant: tuple[str, ...] = ()
    trials: tuple[Trial, ...] = ()
    views: tuple[View, ...] = ()
    rounds: int = 3
    inner: int = 1
    remarks: tuple[str, ...] = ()

    def without_trials(self, why: str) -> Protocol:
        """The experiment that cannot run, with the reason as its last remark."""
        return replace(self, trials=(), views=(), remarks=(*self.remarks, why))


@dataclass(frozen=True)
class Step:
    """One run before it runs."""

    key: str
    round: int
    trial: Trial


def schedule(protocol: Protocol) -> Iterator[Step]:
    """The runs in order: what varies changes from run to run, so that a drift of the machine affects all arms."""
    count = dict.fromkeys((trial.key for trial in protocol.trials), 0)
    for _ in range(protocol.rounds):
        for variant in dict.fromkeys(trial.variant.key for trial in protocol.trials):
            for trial in [one for one in protocol.trials if one.variant.key == variant] * protocol.inner:
                count[trial.key] += 1
                yield Step(f"{protocol.name}.{trial.key}.{count[trial.key]}", count[trial.key], trial)


def step_id(step: Step) -> str:
    """A step's key as part of a file name."""
    return "".join(c if c.isalnum() or c in ".-" else "_" for c in step.key)


@dataclass(frozen=True)
class Effort:
    """How much is measured: `rounds` of every experiment; where the stack must change, `restarts` rounds of `inner`
    runs; `starts` of `startup`, with `cold` also without compile caches; `seconds` for a run. `concurrency` is the most
    requests at once; `tokens` (in, out) of a plain request, and `most_tokens` of any; `levels` of a sweep; `prefixes`
    that the cache of a replica holds."""

    rounds: int
    restarts: int
    inner: int
    seconds: float
    concurrency: int = 48
    tokens: tuple[int, int] = (128, 128)
    most_tokens: int = 4096
    levels: int = 99
    prefixes: int = 64
    starts: int = 3
    cold: bool = False


EFFORTS = {
    "quick": Effort(3, 2, 2, 2, concurrency=8, tokens=(64, 16), most_tokens=320, levels=2, prefixes=4, starts=1),
    "standard": Effort(3, 2, 2, 8),
    "full": Effort(5, 3, 2, 20, cold=True),
}


@dataclass(frozen=True)
class BenchRequest:
    """What to measure, on which plan, with which effort. `model` is the one that single-model experiments take, "" for
    the first; `goodput` is vLLM's, such as ("ttft:500", "tpot:50"); a sweep goes through `levels` (requests at once) or
    `rates` (requests a second); `policies` limits the router's."""

    plan: Plan
    effort: Effort
    model: str = ""
    goodput: tuple[str, ...] = ()
    rates: tuple[float, ...] = ()
    policies: tuple[str, ...] = ()
    levels: tuple[int, ...] = ()

    @property
    def manifest(self) -> Manifest:
        return self.plan.manifest

    @property
    def given(self) -> StackVariant:
        """The stack of the manifest, unchanged."""
        return StackVariant(AS_GIVEN, self.manifest)

    def variant(self, key: str, **changes: object) -> StackVariant:
        """The stack of the manifest with other values at the top level."""
        return StackVariant(key, self.manifest.model_copy(update=changes))


@dataclass(frozen=True)
class BenchOptions:
    """The options of the command line."""

    names: str = ALL
    profile: str = "standard"
    output: Path | None = None
    model: str = ""
    goodput: tuple[str, ...] = ()
    rates: str = ""
    policies: str = ""
    concurrency: str = ""
    seconds: float | None = None
    rounds: int | None = None
    starts: int | None = None
    allow_restart: bool = False
    fresh: bool = False
    timeout: float = 3600.0
