"""What a benchmark found: runs as they were measured, the arms compared, and the verdicts; and its bench.json. Pure.

`report` reads nothing but bench.json. Rates are per second, latencies in milliseconds, sizes in bytes. Every field is
written, so that a reader in another language needs no defaults; a float that JSON cannot express is written as the
text "NaN", "Infinity" or "-Infinity".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf, nan
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, TypeAdapter

from kit.errors import KitError, Problem
from kit.files import parse_versioned, versioned_json

MEASURE_AGAIN = "measure again with `monogpu-kit bench`, or read it with the monogpu-kit that wrote it"
BENCH = "bench.json"
CONVERT = "`scripts/convert-results FOLDER` rewrites its folder"
_NOT_FINITE = {"NaN": nan, "Infinity": inf, "-Infinity": -inf}

VerdictOutcome = Literal["difference", "no difference", "unknown"]
Number = Annotated[float, BeforeValidator(lambda v: _NOT_FINITE.get(v, v) if isinstance(v, str) else v)]


class ResultsError(KitError):
    """A benchmark's results are missing or cannot be read. Exit 2: the input is wrong."""

    exit_code = 2


@dataclass(frozen=True)
class Percentiles:
    """Of a latency, in milliseconds."""

    p50: Number
    p90: Number
    p99: Number


@dataclass(frozen=True)
class Figures:
    """What one model, or all models together, did during a run.

    `tokens` is output tokens a second, for an embedding model prompt tokens; `requests` is answered requests a second;
    both over the whole run, ramp-up and ramp-down included, as vLLM counts them; `goodput` is those of them that met
    the SLO, None without one; `ttft`, `tpot`, `e2el` are None where the engine does not stream."""

    tokens: Number
    requests: Number
    completed: int
    failed: int
    goodput: Number | None = None
    ttft: Percentiles | None = None
    tpot: Percentiles | None = None
    e2el: Percentiles | None = None


@dataclass(frozen=True)
class Phase:
    """A bar of a start's timeline: a service from `begin` until it was healthy at `end`, in seconds since the start."""

    service: str
    begin: Number
    end: Number


@dataclass(frozen=True)
class Run:
    """One measurement of an arm. `value` is what the comparison compares; `models` holds each model's figures;
    `raw` names the files with the load generator's own JSON; `seconds` is how long the run took, `cpu` the seconds of
    CPU that each service used meanwhile, where that is known."""

    key: str
    round: int
    value: Number
    seconds: Number
    models: dict[str, Figures] = field(default_factory=dict)
    total: Figures | None = None
    phases: tuple[Phase, ...] = ()
    raw: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    cpu: dict[str, Number] = field(default_factory=dict)


@dataclass(frozen=True)
class Arm:
    """One of the things compared: its runs, the median of their values, the least and the most of them.
    `x` is its place on a curve's axis, None where the arms are no numbers."""

    name: str
    runs: tuple[Run, ...]
    median: Number
    least: Number
    most: Number
    x: Number | None = None


@dataclass(frozen=True)
class Conclusion:
    """An arm beside the first one. `ratio` is median over median; `low` and `high` are the least and the most that the
    runs allow; the outcome is "no difference" when the spreads overlap, "unknown" with fewer than three runs each."""

    arm: str
    outcome: VerdictOutcome
    ratio: Number
    low: Number
    high: Number
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
    """`varies` is the one thing that differs, `constant` what does not; `remarks` say what was left out and why."""

    name: str
    question: str
    varies: str
    constant: tuple[str, ...]
    comparisons: tuple[Comparison, ...]
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class MeasuredFootprint:
    """A worker's memory: `lines` are the bill's (label, bytes), `measured` is what the driver showed for its processes
    after load, None where the driver does not show it."""

    service: str
    lines: tuple[tuple[str, int], ...]
    measured: int | None = None


@dataclass(frozen=True)
class TestBed:
    """What ran, and on what: everything needed to repeat it. `card` is gpu.json's content, `images` name -> digest or
    id, `host` describes the machine (CPU, cores, memory, kernel), `stacks` are the files of every measured stack."""

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
    """A whole benchmark, as in bench.json. `estimated_seconds` was printed before the first run; `actual_seconds` is
    None until the last."""

    __pydantic_config__ = ConfigDict(ser_json_inf_nan="strings")

    setup: TestBed
    experiments: tuple[Experiment, ...]
    memory: tuple[MeasuredFootprint, ...] = ()
    started: str = ""
    estimated_seconds: Number | None = None
    actual_seconds: Number | None = None


_BENCH = TypeAdapter(Bench)


def to_text(bench: Bench) -> str:
    """The text of bench.json. The same value always gives the same bytes."""
    return versioned_json(_BENCH, bench)


def from_text(text: str, place: str) -> Bench:
    """The benchmark in the text of a bench.json; `place` names the file in errors. Keys that are not known are ignored.

    Raises ResultsError: no JSON, a newer version, or a field that is missing or of another type."""
    if '"held":' in text:  # a key of files before version 1 was settled
        raise ResultsError(Problem(f"{place} was written by an older monogpu-kit", CONVERT))
    return parse_versioned(_BENCH, text, place, MEASURE_AGAIN, ResultsError)
