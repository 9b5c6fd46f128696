"""`start`: how long does it take until every name answers?"""

from __future__ import annotations

from typing import Literal

from kit.bench.design import (
    BenchRequest,
    Protocol,
    StackVariant,
    Trial,
    Value,
    View,
)
from kit.planner.plan import unpinned

QUESTION = "How long does it take from nothing until every name has answered?"
VARIES = "the order of the starts: one after another, or all at once"
ORDERS: tuple[Literal["sequential", "parallel"], ...] = ("sequential", "parallel")


def protocol(wish: BenchRequest) -> Protocol:
    """The whole stack, sequential and parallel; without its compile caches, and with those that a start has left."""
    trials, views, alone = [], [], unpinned(wish.plan.shares)
    for cold in (True, False) if wish.effort.cold and wish.plan.gpu.kind != "host" else (False,):
        word = "cold" if cold else "warm"
        stands = {start: _stand(wish, start, word, cold) for start in ORDERS[: 1 if alone else None]}
        trials += [Trial(stand.key, stand) for stand in stands.values()]
        arms = tuple((start, stand.key, None) for start, stand in stands.items())
        condition = f"{len(wish.plan.shares)} workers, compile caches {'erased' if cold else 'warm'}"
        views.append(View(f"{word} start", condition, "s", "lower", Value("seconds"), arms))
    held = ("the stack as given, all containers removed before", "until `verify` has seen every name answer")
    remarks = (f"not in parallel: {', '.join(alone)} measures the card while it starts",) if alone else ()
    return Protocol("start", QUESTION, VARIES, held, tuple(trials), tuple(views), wish.effort.starts, remarks=remarks)


def _stand(wish: BenchRequest, start: Literal["sequential", "parallel"], word: str, cold: bool) -> StackVariant:
    manifest = wish.manifest.model_copy(update={"start": start})
    return StackVariant(f"{start}, {word}", manifest, anew=True, cold=cold)
