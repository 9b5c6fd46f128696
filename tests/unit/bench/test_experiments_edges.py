"""Experiments on manifests of every kind, and with everything that the user may ask."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kit.bench.design import (
    AS_GIVEN,
    BenchRequest,
)
from kit.bench.experiments import EXPERIMENTS
from kit.bench.experiments.policy import NOT_FOR_MANY
from kit.errors import ManifestError
from kit.manifest.fields import POLICIES
from kit.manifest.model import GpuConfig
from tests.support import planning
from tests.support.benchrequests import HOST, bench_request, example, on, planned_variants, protocols
from tests.support.planning import LLAMA, SMALL, TINY, model, trio

SINGLE = ("router", "prefix", "memory-share", "policy")  # experiments with one model


def said(made: BenchRequest) -> dict[str, tuple[str, ...]]:
    return {name: one.remarks for name, one in protocols(made).items() if not one.trials}


def test_of_one_model_nothing_is_together() -> None:
    why = ("fewer than two models here can be loaded",)
    made = bench_request(model())
    assert said(made) == {"contention": why, "mps": why}
    assert [view.name for view in protocols(made)["sweep"].views] == ["chat"]


def test_without_a_model_that_makes_text_single_experiments_say_so() -> None:
    embeds = [model(name, TINY, task="embed") for name in ("one", "two")]
    made = bench_request(*embeds)
    assert said(made) == dict.fromkeys(SINGLE, ("no model here makes text",))
    assert [view.name for view in protocols(made)["contention"].views] == ["one", "two"]  # prompt tokens have no sum
    assert {load.task for trial in protocols(made)["sweep"].trials for load in trial.loads} == {"embed"}


def test_of_rerankers_alone_only_the_start_is_measured() -> None:
    made = example("rag", "standard")
    only = next(one for one in made.manifest.models if one.task == "rerank")
    manifest = made.manifest.model_copy(update={"models": (only,)})
    shares = tuple(share for share in made.plan.shares if share.model == only)
    alone = replace(made, plan=replace(made.plan, manifest=manifest, shares=shares))
    unasked = f"{only.name} is not loaded: `vllm bench serve` asks no vllm model to rerank"
    assert said(alone)["sweep"] == (unasked,) and protocols(alone)["startup"].trials
    assert set(said(alone)) == {*EXPERIMENTS} - {"startup"}


def test_what_cannot_be_loaded_is_left_out_and_said() -> None:
    made = protocols(example("rag", "standard"))
    for name in ("sweep", "contention", "mps"):
        assert {load.name for trial in made[name].trials for load in trial.loads} == {"chat", "embed"}
        assert made[name].remarks == ("rerank is not loaded: `vllm bench serve` asks no vllm model to rerank",)


def test_a_worker_without_a_cache_is_not_started_beside_others() -> None:
    start = protocols(example("rag", "standard"))["startup"]
    assert [trial.key for trial in start.trials] == ["sequential, warm"]
    assert start.remarks == ("not in parallel: rerank measures the card while it starts",)


def test_models_of_other_engines_are_not_loaded_and_are_said() -> None:
    made = said(example("ollama", "quick"))
    assert made["sweep"] == (
        "chat is not loaded: `vllm bench serve` asks no ollama model to generate",
        "notes is not loaded: `vllm bench serve` asks no ollama model to embed",
    )


def test_on_the_cpu_there_is_no_mps_and_no_cold_start() -> None:
    made = bench_request(model("chat", TINY), gpu=HOST, profile="full")
    assert said(made)["mps"] == ("MPS shares a card, and this stack has none",)
    assert [trial.key for trial in protocols(made)["startup"].trials] == ["sequential, warm", "parallel, warm"]


def test_the_full_profile_also_starts_cold() -> None:
    start = protocols(bench_request(profile="full"))["startup"]
    assert [(t.key, t.variant.cold) for t in start.trials] == [
        ("sequential, cold", True), ("parallel, cold", True), ("sequential, warm", False), ("parallel, warm", False),
    ]  # fmt: skip
    assert all(trial.variant.recreate for trial in start.trials)


def test_a_model_that_fills_the_card_has_no_part_and_no_replicas() -> None:
    made = said(bench_request(model("chat", LLAMA, context="8k"), gpu="24GiB"))
    assert made["memory-share"] == ("chat does not fit 30% of the card with a cache for one request",)
    assert made["policy"] == ("2 replicas of chat do not fit the card",)


def test_a_stack_that_has_mps_is_the_one_with_it() -> None:
    asked = planning.ask(*trio())
    given_mps = asked.manifest.model_copy(update={"gpu": GpuConfig(mps=True)})
    mps = protocols(on(replace(asked, manifest=given_mps)))["mps"]
    assert [(t.variant.key, t.variant.manifest.gpu.mps) for t in mps.trials] == [
        ("without MPS", False),
        (AS_GIVEN, True),
    ]
    assert [arm[:2] for arm in mps.views[0].arms] == [("without MPS", "without MPS"), ("with MPS", AS_GIVEN)]


def test_replicas_and_adapters_are_the_stack_s_own_and_not_the_experiment_s() -> None:
    adapters = ({"name": "code", "source": "org/code"},)
    many = model("chat", SMALL, replicas=3, adapters=adapters)
    made = on(planning.ask(many, model("tiny", TINY), gpu="80GiB"))
    for name in ("memory-share", "policy"):
        for trial in protocols(made)[name].trials:
            (only,) = trial.variant.manifest.models
            assert (only.name, only.replicas, only.adapters) == ("chat", 1 if name == "memory-share" else 2, ())
    assert {load.service for trial in protocols(made)["router"].trials for load in trial.loads} == {"chat"}


def test_graphs_that_are_off_stay_off() -> None:
    made = bench_request(*trio(graphs="off"))
    for protocol in protocols(made).values():
        for planned in planned_variants(made, protocol).values():
            assert {share.graphs for share in planned.shares} == {"off"}


def test_the_router_s_key_and_words_stay() -> None:
    router = {"api_key": "THE_KEY", "port": 8080}
    made = bench_request(words={"router": router})
    for protocol in protocols(made).values():
        for trial in protocol.trials:
            assert (trial.variant.manifest.router.api_key, trial.variant.manifest.router.port) == ("THE_KEY", 8080)


@pytest.mark.parametrize("engine", POLICIES)
def test_every_policy_of_the_router_is_compared_but_those_that_need_a_client_s_word(engine: str) -> None:
    made = protocols(bench_request(model("chat", SMALL), words={"router": {"engine": engine}}))["policy"]
    wanted = [policy for policy in POLICIES[engine] if policy not in NOT_FOR_MANY]
    for view in made.views:
        assert [name for name, _, _ in view.arms] == wanted
    assert {trial.variant.manifest.router.policy for trial in made.trials} == set(wanted)
    some = protocols(
        bench_request(model("chat", SMALL), words={"router": {"engine": engine}}, policies=(wanted[2], wanted[0]))
    )
    assert [name for name, _, _ in some["policy"].views[0].arms] == [wanted[0], wanted[2]]


# ---- what the user asks


def test_experiments_with_one_model_take_the_one_that_is_asked_for() -> None:
    made = protocols(bench_request(model="tiny"))
    for name in SINGLE:
        assert {load.name for trial in made[name].trials for load in trial.loads} == {"tiny"}
    assert {load.name for trial in made["sweep"].trials for load in trial.loads} == {"chat", "small", "tiny"}


@pytest.mark.parametrize("name", SINGLE)
def test_a_model_that_is_not_there_is_refused_with_those_that_are(name: str) -> None:
    with pytest.raises(ManifestError, match="--model nobody cannot be taken; needed: one of chat, small, tiny"):
        EXPERIMENTS[name].protocol(bench_request(model="nobody"))
    with pytest.raises(ManifestError, match="--model one cannot be taken; needed: a model that makes text, and none"):
        EXPERIMENTS[name].protocol(bench_request(planning.model("one", TINY, task="embed"), model="one"))


def test_goodput_is_asked_of_models_that_make_text_and_drawn_beside_the_tokens() -> None:
    made = protocols(bench_request(model(), model("embed", TINY, task="embed"), goodput=("ttft:500",)))["sweep"]
    asked = {load.name: load.goodput for trial in made.trials for load in trial.loads}
    assert asked == {"chat": ("ttft:500",), "embed": ()}
    assert [(v.name, v.value.figure, v.unit) for v in made.views] == [
        ("chat", "tokens", "tok/s"), ("chat", "goodput", "req/s within the SLO"), ("embed", "tokens", "tok/s"),
        ("together", "requests", "req/s"),  # tokens out and tokens in have no sum
    ]  # fmt: skip


def test_rates_take_the_place_of_concurrency() -> None:
    made = protocols(bench_request(model(), rates=(0.5, 4)))["sweep"]
    assert [(load.rate, load.concurrency) for trial in made.trials for load in trial.loads] == [(0.5, 32), (4, 32)]
    (view,) = made.views
    assert (view.axis, [arm[2] for arm in view.arms]) == ("requests a second", [0.5, 4])


def test_a_model_that_is_called_together_keeps_its_own_curve() -> None:
    made = protocols(bench_request(model("together", SMALL), model("tiny", TINY)))["sweep"]
    assert [view.name for view in made.views] == ["together", "tiny", "all together"]
