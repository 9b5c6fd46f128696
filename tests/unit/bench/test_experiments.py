"""Every experiment as it would run: printed for two examples, and what holds whatever is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given

from kit.bench.design import BenchRequest
from kit.bench.experiments import EXPERIMENTS
from kit.bench.workload import SPARE
from tests.support.benchrequests import bench_request, bench_requests, example, planned_variants, protocols
from tests.support.paths import GOLDEN
from tests.support.planning import CHAT, model, trio
from tests.support.printed import printed

Golden = Callable[[Path, str], None]
PRINTED = GOLDEN / "bench" / "protocols"
every = pytest.mark.parametrize("name", EXPERIMENTS)


@every
@pytest.mark.parametrize(("folder", "profile"), [("trio-16gb", "standard"), ("cpu-demo", "quick")])
def test_what_would_run_for_an_example(name: str, folder: str, profile: str, golden: Golden) -> None:
    made = example(folder, profile)
    golden(PRINTED / f"{folder}-{profile}" / f"{name}.txt", printed(protocols(made)[name], made.manifest))


# ---- whatever is asked


@given(bench_requests())
def test_every_stack_keeps_the_rules_and_fits_the_card_and_every_load_fits_the_context(made: BenchRequest) -> None:
    for name, protocol in protocols(made).items():
        if name == "mps":  # its server takes memory too: `bench` leaves it out where that does not fit
            continue
        variants = planned_variants(made, protocol)
        for trial in protocol.trials:
            shares = {share.model.name: share for share in variants[trial.variant.key].shares}
            for load in trial.loads:
                assert load.prompts.input + load.prompts.output <= shares[load.name].context
                assert load.prompts.input >= 1 and load.prompts.prefix < load.prompts.input
                assert load.prompts.output >= 1


@given(bench_requests())
def test_no_more_requests_are_sent_at_once_than_workers_take(made: BenchRequest) -> None:
    for name, protocol in protocols(made).items():
        for trial in protocol.trials:
            for load in trial.loads:
                share = next(one for one in made.plan.shares if one.model.name == load.name)
                most = share.requests * (2 if name == "policy" else 1)
                assert 1 <= load.concurrency <= min(made.effort.concurrency, most)


@given(bench_requests())
def test_an_experiment_runs_or_says_why_not(made: BenchRequest) -> None:
    for protocol in protocols(made).values():
        assert bool(protocol.trials) == bool(protocol.views) and (protocol.trials or protocol.remarks)
        keys = [trial.key for trial in protocol.trials]
        assert len(set(keys)) == len(keys)
        for view in protocol.views:
            assert {trial for _, trial, _ in view.arms} <= set(keys)
            assert len({name for name, _, _ in view.arms}) == len(view.arms)
        used = {trial for view in protocol.views for _, trial, _ in view.arms}
        assert used == set(keys)


@given(bench_requests())
def test_one_thing_varies_between_the_arms(made: BenchRequest) -> None:
    """Trials that are compared have the same loads, but for what their experiment is about."""
    for name, protocol in protocols(made).items():
        if name in ("sweep", "contention", "startup"):
            continue
        trials = {trial.key: trial for trial in protocol.trials}
        for view in protocol.views:
            loads = {tuple(replace(one, target="router") for one in trials[t].loads) for _, t, _ in view.arms}
            sizes = {tuple((one.prompts.input, one.prompts.output, one.concurrency) for one in some) for some in loads}
            assert len(sizes) == 1 and (name == "prefix" or len(loads) == 1)
            assert len({trials[t].group for _, t, _ in view.arms}) == 1


def test_policy_s_caches_hold_what_is_said_of_them() -> None:
    made = bench_request()
    protocol = protocols(made)["policy"]
    (prefixes,) = {view.condition.rpartition(" ")[2] for view in protocol.views}
    for planned in planned_variants(made, protocol).values():
        for share in planned.shares:
            assert int(prefixes) * 2048 <= share.kv_tokens < int(prefixes) * 2048 * 1.1


def test_policy_takes_smaller_caches_where_the_card_is_small() -> None:
    protocol = protocols(bench_request(model("chat", CHAT, context="8k"), gpu="11GiB"))["policy"]
    (holds,) = {int(view.condition.rpartition(" ")[2]) for view in protocol.views}
    assert 4 <= holds < 64


@pytest.mark.parametrize("context", [32, 64, 96, 128, 160, 512])
@pytest.mark.parametrize("profile", ["quick", "standard", "full"])
def test_a_tiny_context_is_not_overrun(context: int, profile: str) -> None:
    made = bench_request(*trio(context=context), profile=profile)
    for name, protocol in protocols(made).items():
        for load in (load for trial in protocol.trials for load in trial.loads):
            assert load.prompts.input + load.prompts.output <= context - (SPARE if name in ("policy", "sweep") else 0)
    policy = protocols(made)["policy"]
    assert bool(policy.trials) == (context >= 96)
    if context < 96:
        assert policy.remarks == (f"chat's context of {context} tokens has no room for a prefix",)
