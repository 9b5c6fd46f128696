"""`sweep`: how much does each model serve, and how fast, as the load grows?"""

from __future__ import annotations

from dataclasses import replace

from kit.bench.design import BenchRequest, Metric, Protocol, Trial, View
from kit.bench.load import LoadSpec
from kit.bench.workload import left_out, load, loadable, sum_unit

OUTLINE = Protocol(
    "sweep",
    "How much does each model serve, and how fast, as the load grows?",
    "the load: requests at once, or a second",
)


def protocol(request: BenchRequest) -> Protocol:
    """Every model alone, then all at once, at rising concurrency up to what it takes at once; or at the concurrency or
    rates of the request, whatever they are."""
    axis = "requests a second" if request.rates else "requests at once"
    loads = {model.name: load(request, model) for model in loadable(request)}
    most = max((one.concurrency for one in loads.values()), default=1)
    fixed = request.rates or tuple(map(float, request.levels))
    all_at_once = "together" if "together" not in loads else "all together"  # no name has a space in it
    groups: dict[str, tuple[LoadSpec, ...]] = {name: (one,) for name, one in loads.items()}
    if len(loads) > 1:
        groups[all_at_once] = tuple(loads.values())
    trials, views = [], []
    for name, mine in groups.items():
        rising = (n for n in levels(most, request.effort.levels) if n <= max(one.concurrency for one in mine))
        places = fixed or tuple(map(float, rising))
        for place in places:
            some = tuple(_at(one, place, request) for one in mine)
            trials.append(Trial(f"{name}-{place:g}", request.given, some, request.effort.seconds))
        arms = tuple((f"{place:g}", f"{name}-{place:g}", place) for place in places)
        condition = "every model loaded at once" if name == all_at_once else f"{name} alone"
        unit, metric = sum_unit(mine)
        views.append(View(name, condition, unit, "higher", metric, arms, "curve", axis))
        if all(one.goodput for one in mine):
            views.append(replace(views[-1], unit="req/s within the SLO", value=Metric("goodput")))
    return replace(
        OUTLINE,
        constant=(*(f"{one.name}: {one.prompts}" for one in loads.values()), "the stack as given, through the router"),
        trials=tuple(trials),
        views=tuple(views),
        rounds=request.effort.rounds,
        remarks=left_out(request),
    )


def levels(most: int, count: int) -> tuple[int, ...]:
    """1, 4, 16, ... and `most`; the first and the last of them where only so many are wanted."""
    found = [4**power for power in range(16) if 4**power < most] + [most]
    return tuple(found) if len(found) <= count else (found[0], found[-1])


def _at(one: LoadSpec, place: float, request: BenchRequest) -> LoadSpec:
    if request.rates:
        return replace(one, rate=place)
    return replace(one, concurrency=int(place) if request.levels else min(int(place), one.concurrency))
