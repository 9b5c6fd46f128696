"""`policy`: how should requests be spread over the replicas of a model?"""

from __future__ import annotations

from dataclasses import replace

from kit.bench.design import (
    BenchRequest,
    Protocol,
    StackVariant,
    Trial,
    Value,
    View,
)
from kit.bench.load import Prompts
from kit.bench.workload import SPARE, cached, footprint, load, share_of, single
from kit.manifest.fields import POLICIES
from kit.manifest.model import Model
from kit.memory.bill import Share
from kit.units import MIB

QUESTION = "How should requests be spread over two replicas, when prompts share prefixes?"
VARIES = "the router's policy; and, from condition to condition, how many prefixes are in use"
NOT_FOR_MANY = ("manual", "passthrough")  # they need a client that says where to go
REPLICAS = 2
REST, OUTPUT = 32, 32
LEAST = 16  # tokens of a prefix: vLLM shares whole blocks of a cache
ASKED = 3  # how often each prefix is asked for
# The working set, as a share of what one replica's cache holds.
SETS = {"small": 1 / 16, "medium": 1.0, "large": 2.0}
MOST_AT_ONCE = 16


def protocol(wish: BenchRequest) -> Protocol:
    """Two replicas of one model, whose caches hold few prefixes, under every policy and three working sets."""
    model = single(wish)
    if model is None:
        return Protocol("policy", QUESTION, VARIES, (), remarks=("no model here makes text",))
    share = share_of(wish, model)
    output = min(OUTPUT, wish.effort.tokens[1])
    prefix = min(2048, share.context // 2, wish.effort.most_tokens // 2, share.context - SPARE - REST - output)
    room = wish.plan.usable_bytes // REPLICAS // MIB * MIB
    if prefix < LEAST or room < footprint(share, 0):
        short = f"{model.name}'s context of {share.context} tokens has no room for a prefix"
        remark = short if prefix < LEAST else f"{REPLICAS} replicas of {model.name} do not fit the card"
        return Protocol("policy", QUESTION, VARIES, (), remarks=(remark,))
    holds = _holds(wish, share, prefix, room)
    memory = min(-(-footprint(share, holds * prefix) // MIB) * MIB, room)
    concurrency = min(MOST_AT_ONCE, wish.effort.concurrency, share.requests * REPLICAS)
    policies = [p for p in POLICIES[wish.manifest.router.engine] if p not in NOT_FOR_MANY]
    policies = [p for p in policies if not wish.policies or p in wish.policies]
    stands = {policy: _stand(wish, model, memory, policy) for policy in policies}
    trials, views = [], []
    for name, share_of_cache in SETS.items():
        prefixes = max(round(holds * share_of_cache), 2)
        count = max(prefixes * ASKED, 3 * concurrency) // prefixes * prefixes
        prompts = Prompts(prefix + REST, output, prefix, prefixes)
        one = replace(load(wish, model, prompts, concurrency), count=count)
        trials += [Trial(f"{name}-{policy}", stand, (one,)) for policy, stand in stands.items()]
        arms = tuple((policy, f"{name}-{policy}", None) for policy in policies)
        condition = f"{prefixes} prefixes of {prefix} tokens; one cache holds about {holds}"
        views.append(View(f"{name} working set", condition, "req/s", "higher", Value("requests"), arms))
    held = (
        f"two replicas of {model.name}, {concurrency} at once, {REST} tokens after the prefix, {output} out",
        "every run has prefixes of its own: what lies in the caches from before is of no use",
    )
    return Protocol("policy", QUESTION, VARIES, held, tuple(trials), tuple(views), wish.effort.rounds)


def _holds(wish: BenchRequest, share: Share, prefix: int, room: int) -> int:
    """As many prefixes as the effort wants, and as fit a worker of `room` bytes; a full context's at least."""
    most = share.context + int((room - footprint(share, 0)) / cached(share))
    return max(min(wish.effort.prefixes, most // prefix), -(-share.context // prefix))


def _stand(wish: BenchRequest, model: Model, memory: int, policy: str) -> StackVariant:
    only = model.model_copy(update={"replicas": REPLICAS, "adapters": (), "memory": memory})
    router = wish.manifest.router.model_copy(update={"policy": policy})
    return StackVariant(
        f"two replicas, {policy}", wish.manifest.model_copy(update={"models": (only,), "router": router})
    )
