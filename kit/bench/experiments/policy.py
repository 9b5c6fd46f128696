"""`policy`: how should requests be spread over the replicas of a model?"""

from __future__ import annotations

from dataclasses import replace

from kit.bench.design import BenchRequest, Metric, Protocol, Trial, View
from kit.bench.load import Prompts
from kit.bench.workload import NO_TEXT, SPARE, alone, cached, footprint, load, share_of, single
from kit.manifest.fields import POLICIES
from kit.memory.bill import Share
from kit.units import MIB

OUTLINE = Protocol(
    "policy",
    "How should requests be spread over two replicas, when prompts share prefixes?",
    "the router's policy; and, from condition to condition, how many prefixes are in use",
)
NOT_FOR_MANY = ("manual", "passthrough")  # they need a client that chooses the worker
REPLICAS = 2
REST, OUTPUT = 32, 32
LEAST = 16  # tokens of a prefix: vLLM shares whole blocks of a cache
REPEATS = 3  # requests with each prefix
# The working set, as a share of what one replica's cache holds.
SETS = {"small": 1 / 16, "medium": 1.0, "large": 2.0}
MOST_AT_ONCE = 16


def protocol(request: BenchRequest) -> Protocol:
    """Two replicas of one model, whose caches hold few prefixes, under every policy and three working sets."""
    model, effort = single(request), request.effort
    if model is None:
        return OUTLINE.without_trials(NO_TEXT)
    share = share_of(request, model)
    output = min(OUTPUT, effort.tokens[1])
    prefix = min(2048, share.context // 2, effort.most_tokens // 2, share.context - SPARE - REST - output)
    room = request.plan.usable_bytes // REPLICAS // MIB * MIB
    if prefix < LEAST:
        return OUTLINE.without_trials(f"{model.name}'s context of {share.context} tokens has no room for a prefix")
    if room < footprint(share, 0):
        return OUTLINE.without_trials(f"{REPLICAS} replicas of {model.name} do not fit the card")
    holds = _holds(request, share, prefix, room)
    memory = min(-(-footprint(share, holds * prefix) // MIB) * MIB, room)
    concurrency = min(MOST_AT_ONCE, effort.concurrency, share.requests * REPLICAS)
    trials, views, variants, router = [], [], {}, request.manifest.router
    for policy in POLICIES[router.engine]:
        if policy in (request.policies or POLICIES[router.engine]) and policy not in NOT_FOR_MANY:
            other, key = router.model_copy(update={"policy": policy}), f"two replicas, {policy}"
            variants[policy] = alone(request, key, model, memory, REPLICAS, router=other)
    for name, part in SETS.items():
        prefixes = max(round(holds * part), 2)
        count = max(prefixes * REPEATS, 3 * concurrency) // prefixes * prefixes
        one = replace(load(request, model, Prompts(prefix + REST, output, prefix, prefixes), concurrency), count=count)
        trials += [Trial(f"{name}-{policy}", variant, (one,)) for policy, variant in variants.items()]
        arms = tuple((policy, f"{name}-{policy}", None) for policy in variants)
        condition = f"{prefixes} prefixes of {prefix} tokens; one cache holds about {holds}"
        views.append(View(f"{name} working set", condition, "req/s", "higher", Metric("requests"), arms))
    return replace(
        OUTLINE,
        constant=(
            f"two replicas of {model.name}, {concurrency} at once, {REST} tokens after the prefix, {output} out",
            "every run has prefixes of its own: what lies in the caches from before is of no use",
        ),
        trials=tuple(trials),
        views=tuple(views),
        rounds=effort.rounds,
    )


def _holds(request: BenchRequest, share: Share, prefix: int, room: int) -> int:
    """As many prefixes as the effort wants, and as fit a worker of `room` bytes; a full context's at least."""
    most = share.context + int((room - footprint(share, 0)) / cached(share))
    return max(min(request.effort.prefixes, most // prefix), -(-share.context // prefix))
