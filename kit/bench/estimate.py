"""How long the rest will take, estimated from what was seen so far. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from kit.bench.design import Protocol, StackVariant, Step, Trial, schedule
from kit.bench.journal import PilotDone, Record, RunDone, StackStarted, runs, sizes
from kit.bench.sizing import PILOT_SECONDS, Size, expected_seconds, may_split, sized

AROUND = 2.5  # seconds of a run beside its load: prompts are made, a tokenizer is read
A_TURN = 60.0  # seconds of a start that waits for one worker, where none was seen: 52 to 81 on an H200
A_START = 2  # cores that a worker's start keeps busy: more at once take turns
COLD = 1.8  # times as long without compile caches, on an H200
ROUTER = 12.0  # seconds of a change that touches the router alone, with the load's return to the network
FIXED = 6.0  # seconds of a trial whose count is fixed, where none was seen
PILOT = 4.0  # seconds of a first pilot beside its load


@dataclass(frozen=True)
class Observations:
    """The times seen so far: sizes of trials, runs, starts, and seconds that pilots took beside their load; `cores` is
    what the machine has."""

    sizes: Mapping[str, Size]
    runs: Mapping[str, RunDone]
    starts: tuple[StackStarted, ...]
    pilots_around: tuple[float, ...] = ()
    cores: int = 1


def observations(records: Iterable[Record], cores: int = 1) -> Observations:
    """From the records, on a machine of so many cores."""
    all = tuple(records)
    return Observations(
        sizes=sizes(all),
        runs=runs(all),
        starts=tuple(record for record in all if isinstance(record, StackStarted)),
        pilots_around=tuple(record.around for record in all if isinstance(record, PilotDone)),
        cores=cores,
    )


def left(protocols: Sequence[Protocol], known: Observations, now: StackVariant | None) -> float:
    """Seconds until everything is done that is not, when the stack `now` is running."""
    total, sizes = 0.0, set(known.sizes)
    for protocol in protocols:
        for step in schedule(protocol):
            if step.key in known.runs:
                continue
            total += _change_seconds(step, known, now)
            now = step.trial.variant
            name = f"{protocol.name}.{step.trial.key}"
            if step.trial.seconds and name not in sizes:
                sizes.add(name)
                total += PILOT + (PILOT_SECONDS + around(known) if may_split(step.trial) else 0.0)
            total += _run_seconds(protocol, step.trial, known)
    return total


def _change_seconds(step: Step, known: Observations, now: StackVariant | None) -> float:
    """Of the change to the step's stack; a start that is measured is the run itself."""
    variant = step.trial.variant
    if variant.recreate or (now is not None and now.key == variant.key):
        return 0.0
    if now is not None and not now.recreate and only_router(now, variant):
        return _median([one.seconds for one in known.starts if not one.workers], ROUTER)
    return start_seconds(variant, known)


def start_seconds(variant: StackVariant, known: Observations) -> float:
    """How long a stack takes to start: as long as before, or as others for each of their turns."""
    same = [one.seconds for one in known.starts if one.key == variant.key and one.workers]
    if same:
        return median(same)
    each = [one.seconds / one.turns for one in known.starts if one.workers]
    return _median(each, A_TURN) * turns(variant, known.cores) * (COLD if variant.cold else 1.0)


def workers(variant: StackVariant) -> int:
    """How many workers a variant has."""
    return sum(model.replicas for model in variant.manifest.models)


def turns(variant: StackVariant, cores: int) -> float:
    """How many workers' starts a stack's start is as long as: all of them one after another, or as many as the cores
    cannot start at once."""
    count = workers(variant)
    if variant.manifest.start == "sequential":
        return float(count)
    return min(max(A_START * count / cores, 1.0), float(count))


def only_router(one: StackVariant, other: StackVariant) -> bool:
    """Whether two variants have the same workers, started alike."""
    a, b = one.manifest, other.manifest
    return (a.models, a.gpu, a.start) == (b.models, b.gpu, b.start)


def _run_seconds(protocol: Protocol, trial: Trial, known: Observations) -> float:
    name = f"{protocol.name}.{trial.key}"
    done = [one.seconds for key, one in known.runs.items() if key.rpartition(".")[0] == name]
    if trial.variant.recreate:
        return _median(done, start_seconds(trial.variant, known))
    if done:
        return median(done)
    mine = sizes_of(protocol, known.sizes)
    own = mine.get(trial.key)
    sending = expected_seconds(sized(trial, mine, protocol.trials), own) if own else trial.seconds or FIXED
    return sending + around(known)


def around(known: Observations) -> float:
    """Seconds that a run takes beside its load: as the runs did, else as the pilots did."""
    beside = [one.seconds - one.sending for one in known.runs.values() if one.sending]
    return _median(beside or known.pilots_around, AROUND)


def sizes_of(protocol: Protocol, found: Mapping[str, Size]) -> dict[str, Size]:
    """The sizes of a protocol's trials by their own keys."""
    start = f"{protocol.name}."
    return {key.removeprefix(start): size for key, size in found.items() if key.startswith(start)}


def _median(values: Sequence[float], otherwise: float) -> float:
    return median(values) if values else otherwise
