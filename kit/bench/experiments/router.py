"""`router`: how much latency and throughput does the router cost?"""

from __future__ import annotations

from dataclasses import replace

from kit.bench.design import BenchRequest, Metric, Protocol, Trial, View
from kit.bench.workload import NO_TEXT, at_once, load, plain, single

OUTLINE = Protocol(
    "router",
    "What is the router overhead?",
    "the route: directly to the worker, or through the router",
)


def protocol(request: BenchRequest) -> Protocol:
    """One model, at full load and with one request at a time, directly and through the router."""
    model = single(request)
    if model is None:
        return OUTLINE.without_trials(NO_TEXT)
    full, trials, views = at_once(request, model), [], []
    for concurrency in dict.fromkeys((full, 1)):
        direct = load(request, model, concurrency=concurrency, target="worker")
        for key, one in (
            (f"direct-{concurrency}", direct),
            (f"through-{concurrency}", replace(direct, target="router")),
        ):
            trials.append(Trial(key, request.given, (one,), request.effort.seconds, f"at {concurrency}"))
        arms = (("direct", f"direct-{concurrency}", None), ("through the router", f"through-{concurrency}", None))
        condition, rest = f"{model.name}, {concurrency} at once", f", {concurrency} at once"
        if concurrency == full:
            views.append(View("throughput", condition, "tok/s", "higher", Metric("tokens"), arms))
        for figure, name in (("ttft.p50", "median until the first token"), ("e2el.p50", "median of the whole answer")):
            views.append(View(f"{name}{rest}", condition, "ms", "lower", Metric(figure, model.name), arms))
    return replace(
        OUTLINE,
        constant=(f"{model.name}: {plain(request, model)}", "the stack as given; only this model is loaded"),
        trials=tuple(trials),
        views=tuple(views),
        rounds=request.effort.rounds,
    )
