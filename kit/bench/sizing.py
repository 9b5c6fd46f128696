"""How many requests a load sends, and from how many processes, so that a run takes the time it should. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil

from kit.bench.design import Trial
from kit.bench.load import LoadSpec
from kit.bench.vllm_results import LEAST_SECONDS

MOST_PROCESSES = 8
WORTH_SPLITTING = 16  # requests at once
PILOT_SECONDS = 2.0  # of a longer pilot: enough to see whether the processes keep up


@dataclass(frozen=True)
class Size:
    """What a pilot of a trial found: the requests a second of each of its loads, and the processes they need."""

    rates: tuple[float, ...]
    processes: tuple[int, ...]


def first_pilot(trial: Trial) -> Trial:
    """The trial with few requests, each load from one process."""
    return replace(trial, loads=tuple(replace(load, count=_enough(load), processes=1) for load in trial.loads))


def may_split(trial: Trial) -> bool:
    """Whether one process might be too few for a load."""
    return any(load.concurrency >= WORTH_SPLITTING for load in trial.loads)


def timed(trial: Trial, found: Size, seconds: float) -> Trial:
    """The trial for so many seconds at the rates that were found, from as many processes."""
    rows = zip(trial.loads, found.rates, found.processes, strict=True)
    return replace(trial, loads=tuple(_counted(load, rate, seconds, processes) for load, rate, processes in rows))


def more(load: LoadSpec, cores: int) -> int:
    """Twice as many processes, as far as it makes sense."""
    most = min(MOST_PROCESSES, max(cores // 2, 1), load.concurrency // (WORTH_SPLITTING // 4))
    return min(load.processes * 2, most) if load.concurrency >= WORTH_SPLITTING else load.processes


def next_processes(pilot: Trial, sending: float, busy: Sequence[bool], cores: int) -> tuple[int, ...] | None:
    """The processes of each load in another pilot; None when this one, of `sending` seconds, was enough. Too short a
    pilot is repeated: the loads are faster than was known. `busy` says of each load whether its processes were
    saturated: it gets more."""
    now = tuple(load.processes for load in pilot.loads)
    if sending < LEAST_SECONDS:
        return now
    wanted = tuple(more(load, cores) if full else load.processes for load, full in zip(pilot.loads, busy, strict=True))
    return None if wanted == now else wanted


def sized(trial: Trial, found: Mapping[str, Size], trials: Sequence[Trial]) -> Trial:
    """The trial as it is run: counts as its protocol fixed them, or for its seconds at the rates that were found, the
    slowest of its group's, and from equally many processes. A group on several variants goes by the first of them: the
    others have their pilots after its first runs, and all runs send the same."""
    if not trial.seconds:
        return trial
    group = [t for t in trials if t.key == trial.key or (trial.group and t.group == trial.group)]
    known = [one for one in group if one.key in found]
    sizes = [found[one.key] for one in known if one.variant.key == known[0].variant.key]
    rates = [min(rates) for rates in zip(*(size.rates for size in sizes), strict=True)]
    processes = tuple(max(counts) for counts in zip(*(size.processes for size in sizes), strict=True))
    return timed(trial, Size(tuple(rates), processes), trial.seconds)


def _counted(load: LoadSpec, rate: float, seconds: float, processes: int) -> LoadSpec:
    rate = min(rate, load.rate) if load.rate else rate
    return replace(load, count=max(ceil(rate * seconds), _enough(load)), processes=processes)


def _enough(load: LoadSpec) -> int:
    """The fewest requests that show something: twice as many as are sent at once, or what a rate sends in a while."""
    return max(ceil(load.rate * PILOT_SECONDS) if load.rate else 2 * load.concurrency, 4)


def expected_seconds(trial: Trial, size: Size) -> float:
    """How long a sized trial will send: as long as its slowest load."""
    return max((load.count / rate for load, rate in zip(trial.loads, size.rates, strict=True) if rate), default=0.0)
