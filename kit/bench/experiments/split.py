"""`split`: does a small model need all of the card?"""

from __future__ import annotations

from kit.bench.design import (
    BenchRequest,
    Protocol,
    StackVariant,
    Trial,
    Value,
    View,
)
from kit.bench.workload import footprint, load, plain, share_of, single
from kit.manifest.model import Model
from kit.units import MIB

QUESTION = "Does a small model serve less from a part of the card than from all of it?"
VARIES = "the memory of the one worker"
PART = 0.3


def protocol(wish: BenchRequest) -> Protocol:
    """One model alone, with all of the card and with 30% of it."""
    model = single(wish)
    if model is None:
        return Protocol("split", QUESTION, VARIES, (), remarks=("no model here makes text",))
    part = int(wish.plan.usable_bytes * PART) // MIB * MIB
    if part < footprint(share_of(wish, model), 0):
        remark = f"{model.name} does not fit {PART:.0%} of the card with a cache for one request"
        return Protocol("split", QUESTION, VARIES, (), remarks=(remark,))
    one = load(wish, model, door="worker")
    whole = wish.plan.usable_bytes // MIB * MIB
    stands = {
        "the whole card": _alone(wish, model, "whole", whole),
        f"{PART:.0%} of it": _alone(wish, model, "part", part),
    }
    trials = tuple(Trial(stand.key, stand, (one,), wish.effort.seconds, "split") for stand in stands.values())
    arms = tuple((name, stand.key, None) for name, stand in stands.items())
    condition = f"{model.name}, {one.concurrency} at once"
    views = (View("throughput", condition, "tok/s", "higher", Value("tokens"), arms),)
    held = (f"{model.name}: {plain(wish, model)}", "no other model is in memory; asked directly")
    return Protocol("split", QUESTION, VARIES, held, trials, views, wish.effort.restarts, wish.effort.inner)


def _alone(wish: BenchRequest, model: Model, key: str, memory: int) -> StackVariant:
    only = model.model_copy(update={"replicas": 1, "adapters": (), "memory": memory})
    return StackVariant(key, wish.manifest.model_copy(update={"models": (only,)}))
