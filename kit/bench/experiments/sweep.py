"""`sweep`: how much does each model serve, and how fast, as the load grows?"""

from __future__ import annotations

from dataclasses import replace

from kit.bench.design import (
    BenchRequest,
    Protocol,
    Trial,
    Value,
    View,
)
from kit.bench.load import LoadSpec
from kit.bench.workload import left_out, load, loadable, sum_unit

QUESTION = "How much does each model serve, and how fast, as the load grows?"
VARIES = "the load: requests at once, or a second"


def protocol(wish: BenchRequest) -> Protocol:
    """Every model alone, then all at once, at rising concurrency up to what it takes at once; or at the wished levels
    or rates, whatever they are."""
    models = loadable(wish)
    axis = "requests a second" if wish.rates else "requests at once"
    loads = {model.name: load(wish, model) for model in models}
    most = max((one.concurrency for one in loads.values()), default=1)
    places = wish.rates or tuple(float(level) for level in wish.levels or levels(most, wish.effort.levels))
    at_once = "together" if "together" not in loads else "all together"  # no name has a space in it
    groups: dict[str, tuple[LoadSpec, ...]] = {name: (one,) for name, one in loads.items()}
    if len(models) > 1:
        groups[at_once] = tuple(loads.values())
    trials, views = [], []
    for name, mine in groups.items():
        arms = []
        for place in places:
            if not (wish.rates or wish.levels) and place > max(one.concurrency for one in mine):
                continue
            key = f"{name}-{place:g}"
            trials.append(Trial(key, wish.given, tuple(_at(one, place, wish) for one in mine), wish.effort.seconds))
            arms.append((f"{place:g}", key, place))
        said = "every model loaded at once" if name == at_once else f"{name} alone"
        unit, value = sum_unit(mine)
        view = View(name, said, unit, "higher", value, tuple(arms), "curve", axis)
        in_time = replace(view, unit="req/s within the SLO", value=Value("goodput"))
        views += [view, in_time] if _has_goodput(mine) else [view]
    held = (*(f"{one.name}: {one.prompts}" for one in loads.values()), "the stack as given, through the router")
    return Protocol(
        "sweep", QUESTION, VARIES, held, tuple(trials), tuple(views), wish.effort.rounds, remarks=left_out(wish)
    )


def levels(most: int, count: int) -> tuple[int, ...]:
    """1, 4, 16, ... and `most`; the first and the last of them where only so many are wanted."""
    found = [4**power for power in range(16) if 4**power < most] + [most]
    return tuple(found) if len(found) <= count else (found[0], found[-1])


def _at(one: LoadSpec, place: float, wish: BenchRequest) -> LoadSpec:
    if wish.rates:
        return replace(one, rate=place)
    return replace(one, concurrency=int(place) if wish.levels else min(int(place), one.concurrency))


def _has_goodput(loads: tuple[LoadSpec, ...]) -> bool:
    return bool(loads) and all(one.goodput for one in loads)
