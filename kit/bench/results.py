"""What a benchmark found, as values: the runs as they were measured, the arms that are compared, and the verdicts.

`bench.json` is this, and `report` reads nothing else. Rates are per second, latencies in milliseconds, sizes in bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

VERSION = 1

Outcome = Literal["difference", "no difference", "unknown"]


@dataclass(frozen=True)
class Percentiles:
    """Of a latency, in milliseconds."""

    p50: float
    p90: float
    p99: float


@dataclass(frozen=True)
class Figures:
    """What one model, or all together, did during a run.

    `tokens` is output tokens a second, for a model that makes vectors prompt tokens; `requests` is answered requests a
    second; both over the whole run, its beginning and end included, as vLLM counts them; `goodput` is those of them
    that met the SLO, None without one; `ttft`, `tpot`, `e2el` are None where the engine does not stream."""

    tokens: float
    requests: float
    completed: int
    failed: int
    goodput: float | None = None
    ttft: Percentiles | None = None
    tpot: Percentiles | None = None
    e2el: Percentiles | None = None


@dataclass(frozen=True)
class Phase:
    """A bar of a start's timeline: a service from `begin` until it was healthy at `end`, seconds since the start."""

    service: str
    begin: float
    end: float


@dataclass(frozen=True)
class Run:
    """One measurement of an arm. `value` is what the comparison compares; `models` holds each model's figures;
    `raw` names the files with the load's own JSON; `seconds` is how long the run took, `cpu` the seconds of CPU that
    each service used meanwhile, where that is known."""

    key: str
    round: int
    value: float
    seconds: float
    models: dict[str, Figures] = field(default_factory=dict)
    total: Figures | None = None
    phases: tuple[Phase, ...] = ()
    raw: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    cpu: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Arm:
    """One of the things compared: its runs, the median of their values, and the least and the most of them.
    `x` is its place on a curve's axis, None where the arms are no numbers."""

    name: str
    runs: tuple[Run, ...]
    median: float
    least: float
    most: float
    x: float | None = None


@dataclass(frozen=True)
class Conclusion:
    """An arm beside the first one. `ratio` is median over median; `low` and `high` are the least and the most that the
    runs allow; the outcome is "no difference" when the spreads overlap, "unknown" with fewer than three runs each."""

    arm: str
    outcome: Outcome
    ratio: float
    low: float
    high: float
    words: str


@dataclass(frozen=True)
class Comparison:
    """The same condition, one thing varied. `unit` is the unit of the arms' values ("tok/s", "req/s", "s", "ms"),
    `better` says which way is good, `verdicts` are those of every arm but the first; a curve has none."""

    name: str
    condition: str
    unit: str
    better: Literal["higher", "lower"]
    arms: tuple[Arm, ...]
    verdicts: tuple[Conclusion, ...] = ()
    kind: Literal["arms", "curve"] = "arms"
    axis: str = ""


@dataclass(frozen=True)
class Experiment:
    """`varies` is the one thing that differs, `held` what is kept alike; `remarks` say what was left out, and why."""

    name: str
    question: str
    varies: str
    held: tuple[str, ...]
    comparisons: tuple[Comparison, ...]
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class MeasuredFootprint:
    """A worker's memory: `lines` are the bill's (what, bytes), `held` is what the driver showed for its processes when
    it had been loaded, None where the driver does not tell."""

    service: str
    lines: tuple[tuple[str, int], ...]
    held: int | None = None


@dataclass(frozen=True)
class TestBed:
    """What ran, and on what: everything needed to do it again. `card` is gpu.json's content, `images` name -> digest or
    id, `host` what the machine is (CPU, cores, memory, kernel), `stacks` the files of every stack that was measured."""

    manifest: str
    profile: str
    card: dict[str, Any]
    images: dict[str, str]
    host: dict[str, str]
    versions: dict[str, str]
    stacks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Bench:
    """A whole benchmark. `told_seconds` is what was said beforehand, `took_seconds` what it took, None until then."""

    setup: TestBed
    experiments: tuple[Experiment, ...]
    memory: tuple[MeasuredFootprint, ...] = ()
    started: str = ""
    told_seconds: float | None = None
    took_seconds: float | None = None
    version: int = VERSION
