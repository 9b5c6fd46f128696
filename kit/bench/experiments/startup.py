"""`startup`: how long does it take until every name answers?"""

from __future__ import annotations

from dataclasses import replace

from kit.bench.design import BenchRequest, Metric, Protocol, Trial, View
from kit.planner.plan import unpinned

OUTLINE = Protocol(
    "startup",
    "How long does it take from nothing until every name has answered?",
    "the order of the starts: one after another, or all at once",
    ("the stack as given, all containers removed before", "until `verify` has seen every name answer"),
)
ORDERS = ("sequential", "parallel")


def protocol(request: BenchRequest) -> Protocol:
    """The whole stack, sequential and parallel; without its compile caches, and with those that a start has left."""
    trials, views, alone = [], [], unpinned(request.plan.shares)
    for cold in (True, False) if request.effort.cold and request.plan.gpu.kind != "host" else (False,):
        name = "cold" if cold else "warm"
        keys = {order: f"{order}, {name}" for order in ORDERS[: 1 if alone else None]}
        variants = [replace(request.variant(k, start=o), recreate=True, cold=cold) for o, k in keys.items()]
        trials += [Trial(variant.key, variant) for variant in variants]
        arms = tuple((order, key, None) for order, key in keys.items())
        condition = f"{len(request.plan.shares)} workers, compile caches {'erased' if cold else 'warm'}"
        views.append(View(f"{name} start", condition, "s", "lower", Metric("seconds"), arms))
    remarks = (f"not in parallel: {', '.join(alone)} measures the card while it starts",) if alone else ()
    rounds = request.effort.starts
    return replace(OUTLINE, trials=tuple(trials), views=tuple(views), rounds=rounds, remarks=remarks)
