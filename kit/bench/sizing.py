"""How many requests a load sends, and from how many processes: so that a run takes the time it should. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil

from kit.bench.design import Trial
from kit.bench.load import LoadSpec
from kit.bench.vllm_results import LEAST_SECONDS

MOST_PROCESSES = 8
WORTH_SPLITTING = 16  # requests at once
LOOK_SECONDS = 2.0  # of a second look: long enough to see whether the processes keep up


@dataclass(frozen=True)
class Size:
    """What a first look at a trial found: the requests a second of each of its loads, and the processes they need."""

    rates: tuple[float, ...]
    processes: tuple[int, ...]


def first_look(trial: Trial, processes: Sequence[int] | None = None) -> Trial:
    """The trial with few requests."""
    shares = processes or (1,) * len(trial.loads)
    loads = (replace(load, count=_enough(load), processes=n) for load, n in zip(trial.loads, shares, strict=True))
    return replace(trial, loads=tuple(loads))


def may_split(trial: Trial) -> bool:
    """Whether one process might be too few for a load."""
    return any(load.concurrency >= WORTH_SPLITTING for load in trial.loads)


def second_look(trial: Trial, found: Size, seconds: float) -> Trial:
    """The trial for so many seconds: long enough to see whether the processes that send it keep up."""
    loads = (_counted(load, rate, seconds, n) for load, rate, n in zip(trial.loads, *_columns(found), strict=True))
    return replace(trial, loads=tuple(loads))


def more(load: LoadSpec, cores: int) -> int:
    """Twice as many processes, as far as it makes sense."""
    most = min(MOST_PROCESSES, max(cores // 2, 1), load.concurrency // (WORTH_SPLITTING // 4))
    return min(load.processes * 2, most) if load.concurrency >= WORTH_SPLITTING else load.processes


def once_more(looked: Trial, sending: float, busy: Sequence[bool], cores: int) -> tuple[int, ...] | None:
    """The processes of each load for another look; None when this one, of `sending` seconds, told enough. Too short a
    look is taken again: the loads are faster than was known. `busy` says of each load whether its processes had no time
    left: it gets more."""
    now = tuple(load.processes for load in looked.loads)
    if sending < LEAST_SECONDS:
        return now
    wanted = tuple(more(load, cores) if full else load.processes for load, full in zip(looked.loads, busy, strict=True))
    return None if wanted == now else wanted


def sized(trial: Trial, found: Mapping[str, Size], trials: Sequence[Trial]) -> Trial:
    """The trial as it is run: counts as its protocol fixed them, or for its seconds at the rates that were found, the
    slowest of its group's, and from equally many processes. A group that stands on several stacks goes by the first of
    them: the others are looked at when its first runs are done, and all runs send the same."""
    if not trial.seconds:
        return trial
    group = [t for t in trials if t.key == trial.key or (trial.group and t.group == trial.group)]
    known = [one for one in group if one.key in found]
    sizes = [found[one.key] for one in known if one.stand.key == known[0].stand.key]
    loads = []
    for index, load in enumerate(trial.loads):
        rate = min(size.rates[index] for size in sizes)
        loads.append(_counted(load, rate, trial.seconds, max(size.processes[index] for size in sizes)))
    return replace(trial, loads=tuple(loads))


def _counted(load: LoadSpec, rate: float, seconds: float, processes: int) -> LoadSpec:
    rate = min(rate, load.rate) if load.rate else rate
    return replace(load, count=max(ceil(rate * seconds), _enough(load)), processes=processes)


def _enough(load: LoadSpec) -> int:
    """The fewest requests that show something: twice as many as are sent at once, or what a rate sends in a while."""
    return max(ceil(load.rate * LOOK_SECONDS) if load.rate else 2 * load.concurrency, 4)


def _columns(found: Size) -> tuple[tuple[float, ...], tuple[int, ...]]:
    return found.rates, found.processes


def expected_seconds(trial: Trial, found: Mapping[str, Size]) -> float | None:
    """How long a sized trial will send; None when nobody looked."""
    size = found.get(trial.key)
    if size is None:
        return None
    return max((load.count / rate for load, rate in zip(trial.loads, size.rates, strict=True) if rate), default=0.0)
