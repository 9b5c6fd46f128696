"""What a benchmark writes down while it works: a line of JSON for everything that it saw. Pure.

The lines are the benchmark's memory: whatever ends it, the same command reads them and goes on behind them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from kit.bench.results import Figures, Percentiles, Phase
from kit.bench.sizing import Size
from kit.errors import Problem, TargetError


@dataclass(frozen=True)
class RunDone:
    """A run. `digest` is that of what was asked, `seconds` with everything around the load, `sending` of the load
    alone, `overlap` for what part of it all processes were at it, `started` how long the stack took to start, for a
    trial that starts it, `cpu` the seconds of CPU that each service used meanwhile, where that is known."""

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
    """A first look at the trial `key` ("router.direct-48"); `around` is what it took beside its load, in seconds.
    `load` is the digest of what was sent to which stack: another trial that sends the same need not be looked at."""

    key: str
    digest: str
    size: Size
    seconds: float
    around: float
    load: str = ""


@dataclass(frozen=True)
class StackStarted:
    """A stack was brought up in so many seconds; `workers` are its workers, 0 when they were kept; `turns` is how many
    of them one had to wait for, one after another."""

    key: str
    seconds: float
    workers: int
    turns: float = 1.0


@dataclass(frozen=True)
class Estimated:
    """How long the rest would take, said before the first run; and how long it took, at the end."""

    told: float
    took: float | None = None


@dataclass(frozen=True)
class BenchStarted:
    """The first line: when, a number that makes this benchmark's prompts unlike any other's, on what, and how much of
    the card was free for it."""

    at: str
    nonce: int
    setup: str = ""
    free_bytes: int = 0


@dataclass(frozen=True)
class MemoryRead:
    """What the workers of the stack as given held, in bytes, once they had been loaded."""

    bytes: dict[str, int]


Record = RunDone | PilotDone | StackStarted | Estimated | BenchStarted | MemoryRead
KINDS = {
    "ran": RunDone,
    "looked": PilotDone,
    "stood": StackStarted,
    "told": Estimated,
    "began": BenchStarted,
    "held": MemoryRead,
}


def line(record: Record) -> str:
    """One line of JSON, ASCII alone: nothing in it ends a line, and its half can be read."""
    kind = next(name for name, type_ in KINDS.items() if isinstance(record, type_))
    return json.dumps({"kind": kind, **asdict(record)}) + "\n"


def read(text: str, place: str) -> tuple[Record, ...]:
    """The records of a file. A last line that was not finished is none. Raises TargetError for a broken one."""
    lines = enumerate(text.split("\n")[:-1], 1)
    return tuple(_read(line, f"{place}:{number}") for number, line in lines if line.strip())


def whole(text: str) -> str:
    """The text up to where its last whole line ends."""
    return text[: text.rfind("\n") + 1]


def _read(line: str, place: str) -> Record:
    try:
        data = json.loads(line)
        return _made(data.pop("kind"), data)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        what = f"{type(error).__name__}: {error}"
        raise TargetError(
            Problem(f"{place} is no record of a benchmark", what, "choose another folder with -o")
        ) from None


def _made(kind: str, data: dict[str, Any]) -> Record:
    if kind == "looked":
        size = Size(*(tuple(data["size"][name]) for name in ("rates", "processes")))
        return PilotDone(**{**data, "size": size})
    if kind != "ran":
        made: Record = KINDS[kind](**data)
        return made
    models = {name: figures_of(figures) for name, figures in data.pop("models").items()}
    phases = tuple(Phase(**phase) for phase in data.pop("phases"))
    return RunDone(
        **{**data, "models": models, "phases": phases, "raw": tuple(data["raw"]), "commands": tuple(data["commands"])}
    )


def figures_of(data: dict[str, Any]) -> Figures:
    """Figures from their JSON."""
    latencies = {name: Percentiles(**data[name]) if data.get(name) else None for name in ("ttft", "tpot", "e2el")}
    return Figures(**{**data, **latencies})


def began(records: Iterable[Record]) -> BenchStarted | None:
    """The first line; None where nothing was written down."""
    return next((record for record in records if isinstance(record, BenchStarted)), None)


def alike(records: Iterable[Record], load: str) -> PilotDone | None:
    """A look at the load of this digest; None where nobody looked at it."""
    return next((record for record in records if isinstance(record, PilotDone) and record.load == load), None)


def runs(records: Iterable[Record]) -> dict[str, RunDone]:
    """Key -> run."""
    return {record.key: record for record in records if isinstance(record, RunDone)}


def sizes(records: Iterable[Record]) -> dict[str, Size]:
    """Trial -> what a look at it found."""
    return {record.key: record.size for record in records if isinstance(record, PilotDone)}
