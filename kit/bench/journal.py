"""What a benchmark writes down while it works: one line of JSON for everything that it saw. Pure.

The lines are the benchmark's memory: whatever interrupts it, the same command reads them and resumes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from kit.bench.results import CONVERT, Figures, Phase
from kit.bench.sizing import Size
from kit.errors import Problem, TargetError, dotted


@dataclass(frozen=True)
class RunDone:
    """A run. `digest` is that of its protocol and trial, `seconds` includes everything around the load, `sending` is
    the load alone, `overlap` the part of it in which all processes were sending, `started` how long the stack took to
    start, for a trial that starts it, `cpu` the seconds of CPU that each service used meanwhile, where known."""

    kind: Literal["run_done"] = field(default="run_done", kw_only=True)
    key: str
    digest: str
    seconds: float
    sending: float = 0.0
    overlap: float | None = None
    models: dict[str, Figures] = field(default_factory=dict)
    started: float | None = None
    phases: tuple[Phase, ...] = ()
    raw: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    cpu: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class PilotDone:
    """A pilot of the trial `key` ("router.direct-48"); `around` is what it took beside its load, in seconds.
    `load` is the digest of the loads and of the stack: another trial with the same digest needs no pilot."""

    kind: Literal["pilot_done"] = field(default="pilot_done", kw_only=True)
    key: str
    digest: str
    size: Size
    seconds: float
    around: float
    load: str = ""


@dataclass(frozen=True)
class StackStarted:
    """A stack was started in `seconds`; `workers` are its workers, 0 when they were kept; `turns` is how many workers'
    starts that is as long as, one after another."""

    kind: Literal["stack_started"] = field(default="stack_started", kw_only=True)
    key: str
    seconds: float
    workers: int
    turns: float = 1.0


@dataclass(frozen=True)
class Estimated:
    """How long the rest would take, estimated before the first run; and how long it actually took."""

    kind: Literal["estimated"] = field(default="estimated", kw_only=True)
    estimated: float
    actual: float | None = None


@dataclass(frozen=True)
class BenchStarted:
    """The first line: when, a number that makes this benchmark's prompts unlike any other's, on what, and how much of
    the card was free."""

    kind: Literal["bench_started"] = field(default="bench_started", kw_only=True)
    at: str
    nonce: int
    setup: str = ""
    free_bytes: int = 0
    version: Literal[1] = 1


@dataclass(frozen=True)
class MemoryRead:
    """The memory of the workers of the stack as given, in bytes, after load."""

    kind: Literal["memory"] = field(default="memory", kw_only=True)
    bytes: dict[str, int]


Record = RunDone | PilotDone | StackStarted | Estimated | BenchStarted | MemoryRead
_RECORD: TypeAdapter[Record] = TypeAdapter(Annotated[Record, Field(discriminator="kind")])


def line(record: Record) -> str:
    """One line of JSON, ASCII alone: nothing in it ends a line, and a half of it can be decoded."""
    return json.dumps(asdict(record)) + "\n"


def read(text: str, place: str) -> tuple[Record, ...]:
    """The records of a file; an unfinished last line is ignored. Raises TargetError for a broken line."""
    if text.startswith('{"kind": "began"'):  # a kind of files before version 1 was settled
        raise TargetError(Problem(f"{place} was written by an older monogpu-kit", CONVERT))
    lines = enumerate(text.split("\n")[:-1], 1)
    return tuple(_read(line, f"{place}:{number}") for number, line in lines if line.strip())


def whole(text: str) -> str:
    """The text up to the end of its last whole line."""
    return text[: text.rfind("\n") + 1]


def _read(line: str, place: str) -> Record:
    try:
        return _RECORD.validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        what = f"{dotted(first['loc'])}: {first['msg']}" if first["loc"] else first["msg"]
        problem = Problem(f"{place} is no record of a benchmark", what, "choose another folder with -o")
        raise TargetError(problem) from None


def bench_started(records: Iterable[Record]) -> BenchStarted | None:
    """The first line; None where nothing was written down."""
    return next((record for record in records if isinstance(record, BenchStarted)), None)


def runs(records: Iterable[Record]) -> dict[str, RunDone]:
    """Key -> run."""
    return {record.key: record for record in records if isinstance(record, RunDone)}


def sizes(records: Iterable[Record]) -> dict[str, Size]:
    """Trial -> what its pilot found."""
    return {record.key: record.size for record in records if isinstance(record, PilotDone)}
