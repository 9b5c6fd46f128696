"""How long the rest will take, told from what was seen so far. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from kit.bench.design import (
    Protocol,
    StackVariant,
    Step,
    Trial,
    schedule,
)
from kit.bench.journal import (
    PilotDone,
    Record,
    RunDone,
    StackStarted,
    runs,
    sizes,
)
from kit.bench.sizing import LOOK_SECONDS, Size, expected_seconds, may_split, sized

AROUND = 2.5  # seconds of a run beside its load: prompts are made, a tokenizer is read
A_TURN = 60.0  # seconds of a start that waits for one worker, where none was seen: 52 to 81 on an H200
A_START = 2  # cores that a worker's start keeps busy: more at once take turns
COLD = 1.8  # times as long without compile caches, on an H200
ROUTER = 12.0  # seconds of a change that touches the router alone, with the load's return to the network
FIXED = 6.0  # seconds of a trial whose count is fixed, where none was seen
LOOK = 4.0  # seconds of a first look beside its load


@dataclass(frozen=True)
class Observations:
    """What is known of the times: sizes of trials, runs, and starts; and the cores they take."""

    sizes: Mapping[str, Size]
    ran: Mapping[str, RunDone]
    stood: tuple[StackStarted, ...]
    looked: tuple[PilotDone, ...] = ()
    cores: int = 1


def observations(records: Iterable[Record], cores: int = 1) -> Observations:
    """From the records, on a machine of so many cores."""
    all = tuple(records)
    stood = tuple(record for record in all if isinstance(record, StackStarted))
    looked = tuple(record for record in all if isinstance(record, PilotDone))
    return Observations(sizes(all), runs(all), stood, looked, cores)


def left(protocols: Sequence[Protocol], known: Observations, now: StackVariant | None) -> float:
    """Seconds until everything is done that is not, when the stack of `now` stands."""
    total, looked = 0.0, set(known.sizes)
    for protocol in protocols:
        for step in schedule(protocol):
            if step.key in known.ran:
                continue
            total += _stand_seconds(step, known, now)
            now = step.trial.stand
            name = f"{protocol.name}.{step.trial.key}"
            if step.trial.seconds and name not in looked:
                looked.add(name)
                total += LOOK + (LOOK_SECONDS + around(known) if may_split(step.trial) else 0.0)
            total += _run_seconds(protocol, step.trial, known)
    return total


def _stand_seconds(step: Step, known: Observations, now: StackVariant | None) -> float:
    stand = step.trial.stand
    if stand.anew:
        return 0.0  # the start is the run
    if now is not None and now.key == stand.key:
        return 0.0
    if now is not None and not now.anew and only_router(now, stand):
        return _median([one.seconds for one in known.stood if not one.workers], ROUTER)
    return start_seconds(stand, known)


def start_seconds(stand: StackVariant, known: Observations) -> float:
    """How long a stack takes to start: as it did, or as others did for each of their turns."""
    same = [one.seconds for one in known.stood if one.key == stand.key and one.workers]
    if same:
        return median(same)
    each = [one.seconds / one.turns for one in known.stood if one.workers]
    return _median(each, A_TURN) * turns(stand, known.cores) * (COLD if stand.cold else 1.0)


def workers(stand: StackVariant) -> int:
    """How many workers a stand has."""
    return sum(model.replicas for model in stand.manifest.models)


def turns(stand: StackVariant, cores: int) -> float:
    """How many workers' starts a stack's start is as long as: all of them one after another, or as many as the cores
    cannot start at once."""
    count = workers(stand)
    if stand.manifest.start == "sequential":
        return float(count)
    return min(max(A_START * count / cores, 1.0), float(count))


def only_router(one: StackVariant, other: StackVariant) -> bool:
    """Whether two stands have the same workers, started alike."""
    a, b = one.manifest, other.manifest
    return (a.models, a.gpu, a.start) == (b.models, b.gpu, b.start)


def _run_seconds(protocol: Protocol, trial: Trial, known: Observations) -> float:
    name = f"{protocol.name}.{trial.key}"
    done = [one.seconds for key, one in known.ran.items() if key.rpartition(".")[0] == name]
    if trial.stand.anew:
        return _median(done, start_seconds(trial.stand, known))
    if done:
        return median(done)
    mine = _own(protocol, known.sizes)
    expected = expected_seconds(sized(trial, mine, protocol.trials), mine) if trial.key in mine else None
    return (expected if expected is not None else trial.seconds or FIXED) + around(known)


def around(known: Observations) -> float:
    """Seconds that a run takes beside its load: as the runs did, else as the looks did."""
    beside = [one.seconds - one.sending for one in known.ran.values() if one.sending]
    return _median(beside or [one.around for one in known.looked], AROUND)


def _own(protocol: Protocol, found: Mapping[str, Size]) -> dict[str, Size]:
    """The sizes of a protocol's trials by their own keys."""
    start = f"{protocol.name}."
    return {key.removeprefix(start): size for key, size in found.items() if key.startswith(start)}


def _median(values: Sequence[float], otherwise: float) -> float:
    return median(values) if values else otherwise


def words(seconds: float) -> str:
    """ "1 h 4 min", "12 min 30 s", "45 s"."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
