"""What a benchmark will do, as values: stacks that must run, loads that are sent to them, and how they are compared.

An experiment is printed before it runs. Nothing here knows how a stack is started or how a load is sent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from kit.bench.load import LoadSpec
from kit.manifest.model import Manifest
from kit.memory.bill import Plan

Better = Literal["higher", "lower"]
AS_GIVEN = "as given"


@dataclass(frozen=True)
class StackVariant:
    """A stack that must run. `anew`: it is started for the trial, and that start is what is measured; `cold`: without
    the compile caches of earlier starts."""

    key: str
    manifest: Manifest
    anew: bool = False
    cold: bool = False


@dataclass(frozen=True)
class Value:
    """What a comparison takes from a run: a figure ("tokens", "requests", "goodput", "ttft.p50", ...) of a model, or of
    all together where `model` is ""; "seconds" is how long the stack took to start."""

    figure: str
    model: str = ""


@dataclass(frozen=True)
class Trial:
    """What is run again and again: its loads all at once, on its stand. `seconds` is how long each run should take:
    the loads' counts are set from a first look; 0 keeps the counts as they are. Trials of one `group` get the same
    counts, the slowest of them on the group's first stand taking `seconds`."""

    key: str
    stand: StackVariant
    loads: tuple[LoadSpec, ...] = ()
    seconds: float = 0.0
    group: str = ""


@dataclass(frozen=True)
class View:
    """A comparison of trials, to be: its arms by name, trial, and place on the axis."""

    name: str
    condition: str
    unit: str
    better: Better
    value: Value
    arms: tuple[tuple[str, str, float | None], ...]
    kind: Literal["arms", "curve"] = "arms"
    axis: str = ""


@dataclass(frozen=True)
class Protocol:
    """An experiment, to be. `rounds` times through all stands, on each of them `inner` times through its trials: with
    two trials that is A B A B. `remarks` say what is left out, and why."""

    name: str
    question: str
    varies: str
    held: tuple[str, ...]
    trials: tuple[Trial, ...] = ()
    views: tuple[View, ...] = ()
    rounds: int = 3
    inner: int = 1
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Step:
    """One run, to be."""

    key: str
    experiment: str
    round: int
    trial: Trial


def schedule(protocol: Protocol) -> Iterator[Step]:
    """The runs in their order: what varies changes from run to run, so that a drift of the machine falls on all."""
    stands = tuple(dict.fromkeys(trial.stand.key for trial in protocol.trials))
    count = dict.fromkeys((trial.key for trial in protocol.trials), 0)
    for _ in range(protocol.rounds):
        for stand in stands:
            mine = [trial for trial in protocol.trials if trial.stand.key == stand]
            for _ in range(protocol.inner):
                for trial in mine:
                    count[trial.key] += 1
                    number = count[trial.key]
                    yield Step(f"{protocol.name}.{trial.key}.{number}", protocol.name, number, trial)


@dataclass(frozen=True)
class Effort:
    """How much is done: `rounds` of every experiment; where the stack must change for it `restarts` rounds of `inner`
    runs; `starts` of a start; `cold`: also without compile caches; `seconds` for a run. `concurrency` is the most
    requests at once; `tokens` (in, out) of a plain request, and `most_tokens` of any; `levels` of a sweep; `prefixes`
    that a replica's cache holds."""

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
    """What the user asks for: on this plan, with this effort. `model` is the one that single-model experiments take,
    "" for the first; `goodput` is vLLM's, such as ("ttft:500", "tpot:50"); a sweep goes through `levels`, requests at
    once, or `rates`, requests a second; `policies` limits the router's."""

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
        """The stack as the manifest says it."""
        return StackVariant(AS_GIVEN, self.manifest)


def step_id(step: Step) -> str:
    """A step's name in a file's name."""
    return "".join(c if c.isalnum() or c in ".-" else "_" for c in step.key)


ALL = "all"


@dataclass(frozen=True)
class BenchOptions:
    """What the command line says."""

    names: str = ALL
    profile: str = "standard"
    output: Path | None = None
    model: str = ""
    goodput: tuple[str, ...] = ()
    rates: str = ""
    policies: str = ""
    levels: str = ""
    concurrency: int | None = None
    seconds: float | None = None
    rounds: int | None = None
    starts: int | None = None
    restart: bool = False
    again: bool = False
    timeout: float = 3600.0
