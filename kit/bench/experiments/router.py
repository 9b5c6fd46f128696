"""`router`: what does the way through the router cost?"""

from __future__ import annotations

from kit.bench.design import (
    BenchRequest,
    Protocol,
    Trial,
    Value,
    View,
)
from kit.bench.workload import at_once, load, plain, single

QUESTION = "What does the way through the router cost?"
VARIES = "the way: straight to the worker, or through the router"


def protocol(wish: BenchRequest) -> Protocol:
    """One model, at full load and with one request at a time, straight and through the router."""
    model = single(wish)
    if model is None:
        return Protocol("router", QUESTION, VARIES, (), remarks=("no model here makes text",))
    full, trials, views = at_once(wish, model), [], []
    for concurrency in dict.fromkeys((full, 1)):
        ways = {"direct": f"direct-{concurrency}", "through the router": f"through-{concurrency}"}
        for door, key in zip(("worker", "router"), ways.values(), strict=True):
            one = load(wish, model, concurrency=concurrency, door=door)  # type: ignore[arg-type]
            trials.append(Trial(key, wish.given, (one,), wish.effort.seconds, f"at {concurrency}"))
        arms = tuple((name, key, None) for name, key in ways.items())
        condition = f"{model.name}, {concurrency} at once"
        if concurrency == full:
            views.append(View("throughput", condition, "tok/s", "higher", Value("tokens"), arms))
        for figure, name in (("ttft.p50", "first token"), ("e2el.p50", "whole answer")):
            what = f"median until the {name}" if "first" in name else f"median of the {name}"
            views.append(
                View(f"{what}, {concurrency} at once", condition, "ms", "lower", Value(figure, model.name), arms)
            )
    held = (f"{model.name}: {plain(wish, model)}", "the stack as given; only this model is loaded")
    return Protocol("router", QUESTION, VARIES, held, tuple(trials), tuple(views), wish.effort.rounds)
