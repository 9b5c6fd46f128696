"""`memory-share`: does a small model need all of the card?"""

from __future__ import annotations

from dataclasses import replace

from kit.bench.design import BenchRequest, Metric, Protocol, Trial, View
from kit.bench.workload import NO_TEXT, alone, footprint, load, plain, share_of, single
from kit.units import MIB

OUTLINE = Protocol(
    "memory-share",
    "Does a small model serve less from a part of the card than from all of it?",
    "the memory of the one worker",
)
PART = 0.3


def protocol(request: BenchRequest) -> Protocol:
    """One model alone, with all of the card and with 30% of it."""
    model, usable, effort = single(request), request.plan.usable_bytes, request.effort
    if model is None:
        return OUTLINE.without_trials(NO_TEXT)
    whole, part = usable // MIB * MIB, int(usable * PART) // MIB * MIB
    if part < footprint(share_of(request, model), 0):
        return OUTLINE.without_trials(f"{model.name} does not fit {PART:.0%} of the card with a cache for one request")
    one = load(request, model, target="worker")
    variants = (alone(request, "whole", model, whole), alone(request, "part", model, part))
    arms = (("the whole card", "whole", None), (f"{PART:.0%} of it", "part", None))
    condition = f"{model.name}, {one.concurrency} at once"
    return replace(
        OUTLINE,
        constant=(f"{model.name}: {plain(request, model)}", "no other model is in memory; asked directly"),
        trials=tuple(Trial(variant.key, variant, (one,), effort.seconds, OUTLINE.name) for variant in variants),
        views=(View("throughput", condition, "tok/s", "higher", Metric("tokens"), arms),),
        rounds=effort.restarts,
        inner=effort.inner,
    )
