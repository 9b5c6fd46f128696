"""`contention`: what does each model lose when all are loaded at once?"""

from __future__ import annotations

from dataclasses import replace

from kit.bench.design import BenchRequest, Metric, Protocol, Trial, View
from kit.bench.workload import TOO_FEW, left_out, load, loadable

OUTLINE = Protocol(
    "contention",
    "What does each model lose when all are loaded at once, and what do they serve in sum?",
    "how many of the models are loaded; all of them are in memory all the time",
)


def protocol(request: BenchRequest) -> Protocol:
    """Each model alone, then all at once, each with the same load."""
    loads = {model.name: load(request, model) for model in loadable(request)}
    if len(loads) < 2:
        return OUTLINE.without_trials(TOO_FEW)
    sets = {f"alone-{name}": (one,) for name, one in loads.items()} | {"together": tuple(loads.values())}
    views = [
        View(
            name, f"{one.concurrency} at once", "tok/s", "higher", Metric("tokens", name),
            (("alone", f"alone-{name}", None), ("with the others", "together", None)),
        )
        for name, one in loads.items()
    ]  # fmt: skip
    if all(one.task == "generate" for one in loads.values()):
        arms = (*((f"{name} alone", f"alone-{name}", None) for name in loads), ("all together", "together", None))
        views.append(View("sum", "output tokens of all models", "tok/s", "higher", Metric("tokens"), arms))
    each = (f"{one.name}: {one.prompts}, {one.concurrency} at once" for one in loads.values())
    return replace(
        OUTLINE,
        constant=(*each, "through the router"),
        trials=tuple(Trial(key, request.given, some, request.effort.seconds) for key, some in sets.items()),
        views=tuple(views),
        rounds=request.effort.rounds,
        remarks=left_out(request),
    )
