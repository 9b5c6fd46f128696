"""What every plan keeps to, whatever is asked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.errors import ManifestError
from kit.gpu import Gpu, Process, from_size
from kit.memory.bill import Plan
from kit.planner.plan import NoRoom, plan
from kit.planner.workers import PlanInput
from kit.units import GIB, MIB
from tests.support.planning import CHAT, FACTS, LLAMA, RTX_5080, SMALL, TINY, ask, cards, model, models, trio

RUNGS = {"full": 0, "small": 1, "off": 2}


def planned(asked: PlanInput) -> Plan | None:
    try:
        return plan(asked)
    except NoRoom:
        return None


@given(models(), cards)
def test_the_sum_is_never_above_what_is_usable(some: list[dict[str, Any]], card: Gpu) -> None:
    made = planned(ask(*some, gpu=card))
    if made:
        assert sum(share.total_bytes for share in made.shares) <= made.usable_bytes
        assert made.spare_bytes >= 0


@given(models(), cards)
def test_every_worker_serves_at_least_one_request_of_full_context(some: list[dict[str, Any]], card: Gpu) -> None:
    made = planned(ask(*some, gpu=card))
    for share in made.shares if made else ():
        assert share.concurrency >= 1
        assert share.kv_tokens >= share.context


@given(models(least=2), cards, st.randoms(use_true_random=False))
def test_the_order_of_the_models_does_not_matter(some: list[dict[str, Any]], card: Gpu, random: Any) -> None:
    mixed = list(some)
    random.shuffle(mixed)
    one, other = planned(ask(*some, gpu=card)), planned(ask(*mixed, gpu=card))
    assert (one is None) == (other is None)
    if one and other:
        assert {s.service: (s.lines, s.kv_bytes, s.graphs, s.requests) for s in one.shares} == {
            s.service: (s.lines, s.kv_bytes, s.graphs, s.requests) for s in other.shares
        }


@given(models(), st.integers(2_000, 60_000), st.integers(0, 40_000))
def test_more_memory_never_unfits_and_never_costs_a_candidate(some: list[dict[str, Any]], mib: int, more: int) -> None:
    less, bigger = planned(ask(*some, gpu=f"{mib}MiB")), planned(ask(*some, gpu=f"{mib + more}MiB"))
    if less is None:
        return
    assert bigger is not None
    for low, high in zip(less.shares, bigger.shares, strict=True):
        assert RUNGS[high.graphs] <= RUNGS[low.graphs]
        assert high.requests >= low.requests
        assert high.context >= low.context


@given(models(), cards)
def test_a_footprint_that_the_manifest_fixes_is_never_exceeded(some: list[dict[str, Any]], card: Gpu) -> None:
    made = planned(ask(*some, gpu=card))
    for share in made.shares if made else ():
        if share.model.memory != "auto":
            assert share.total_bytes <= share.model.memory


@given(models(), cards)
def test_only_what_is_auto_is_given_up(some: list[dict[str, Any]], card: Gpu) -> None:
    made = planned(ask(*some, gpu=card))
    for share in made.shares if made else ():
        if share.model.graphs != "auto":
            assert share.graphs == share.model.graphs
        if share.model.requests != "auto":
            assert share.requests == share.model.requests
        if share.model.context != "auto":
            assert share.context == share.model.context
        if share.degraded:
            assert "auto" in (share.model.graphs, share.model.requests, share.model.context)


def test_the_trio_with_full_graphs_fits_a_16_gb_card() -> None:
    made = plan(ask(*trio(context=4096, requests=256)))
    assert [share.graphs for share in made.shares] == ["full"] * 3
    assert sum(share.kv_bytes for share in made.shares) > 4 * GIB


def test_two_small_models_fit_8_gb_with_the_numbers_said() -> None:
    made = plan(ask(model("a", SMALL, context=32768), model("b", SMALL, context=32768), gpu="8188MiB"))
    assert [share.kv_tokens >= 32768 for share in made.shares] == [True, True]


def test_the_ladder_steps_down_in_its_order() -> None:
    seen: list[tuple[str, int, int]] = []
    for mib in range(8000, 3000, -50):
        made = planned(ask(model("chat", CHAT, requests="auto", context="auto"), gpu=f"{mib}MiB"))
        if made and (not seen or seen[-1] != (made.shares[0].graphs, made.shares[0].requests, made.shares[0].context)):
            seen.append((made.shares[0].graphs, made.shares[0].requests, made.shares[0].context))
    assert seen[0] == ("full", 256, 8192)
    assert seen[1][0] == "small"
    assert [row[1] for row in seen] == sorted((row[1] for row in seen), reverse=True)
    assert seen[-1][0] == "off"
    assert seen[-1][1] == 1


def test_what_is_given_up_is_said_with_what_it_bought() -> None:
    made = plan(ask(*trio(context=4096, requests=256), gpu="9GiB"))
    said = [words for share in made.shares for words in share.degraded]
    assert said
    assert all("->" in words and "saves" in words for words in said)


def test_left_over_memory_is_shared_by_weight() -> None:
    made = plan(ask(model("a", CHAT, weight=3, context=32768), model("b", CHAT, weight=1, context=32768)))
    a, b = made.shares
    least = 32768 * 28672
    assert (a.kv_bytes - least) / (b.kv_bytes - least) == pytest.approx(3, rel=0.05)


def test_what_one_cannot_use_goes_to_the_others() -> None:
    made = plan(ask(model("a", CHAT, context=512, requests=1), model("b", CHAT, context=32768)))
    a, b = made.shares
    assert a.kv_bytes == (512 // 16 + 1) * 16 * 28672
    assert b.kv_bytes > 4 * GIB


def test_nearly_all_that_is_left_becomes_kv_cache() -> None:
    made = plan(ask(*trio(context=32768 // 4, requests=64)))
    kv = sum(share.kv_bytes for share in made.shares)
    assert kv / (kv + made.spare_bytes) > 0.98


def test_the_gate_asks_for_the_footprint_less_the_context() -> None:
    (share,) = plan(ask(model())).shares
    context = sum(line.bytes for line in share.lines if line.kind == "context")
    assert share.utilization is not None
    gate = float(share.utilization) * RTX_5080.total_bytes
    assert 0 <= share.total_bytes - context - gate < RTX_5080.total_bytes / 10_000


def test_processes_on_the_card_are_named_and_paid_first() -> None:
    busy = replace(RTX_5080, free_bytes=RTX_5080.total_bytes - 3 * GIB, processes=(Process(7, "game", 2 * GIB),))
    made = plan(ask(model(), gpu=busy))
    assert [(line.label, line.bytes) for line in made.reserved[:2]] == [("game (pid 7)", 2 * GIB), ("others", GIB)]
    assert made.usable_bytes == busy.total_bytes - 3 * GIB - 128 * MIB


def test_an_mps_server_is_paid_before_the_workers_and_nothing_else_changes() -> None:
    without, made = plan(ask(*trio())), plan(with_mps(ask(*trio())))
    assert made.reserved == (*without.reserved, made.reserved[-1])
    assert (made.reserved[-1].label, made.reserved[-1].bytes) == ("MPS server", 66 * MIB)
    assert made.usable_bytes == without.usable_bytes - 66 * MIB


def with_mps(asked: PlanInput) -> PlanInput:
    gpu = asked.manifest.gpu.model_copy(update={"mps": True})
    return replace(asked, manifest=asked.manifest.model_copy(update={"gpu": gpu}))


def test_a_reserve_covers_what_others_hold() -> None:
    busy = replace(RTX_5080, free_bytes=RTX_5080.total_bytes - GIB)
    made = plan(ask(model(), gpu=busy, gpu_reserve=None) if False else _with_reserve(busy, 2 * GIB))
    assert made.usable_bytes == busy.total_bytes - 2 * GIB


def test_a_reserve_that_is_already_exceeded_is_not_believed() -> None:
    busy = replace(RTX_5080, free_bytes=RTX_5080.total_bytes - 4 * GIB)
    assert plan(_with_reserve(busy, GIB)).usable_bytes < busy.total_bytes - 4 * GIB


def _with_reserve(card: Gpu, reserve: int) -> PlanInput:
    asked = ask(model(), gpu=card)
    wish = asked.manifest.gpu.model_copy(update={"reserve": reserve})
    return replace(asked, manifest=asked.manifest.model_copy(update={"gpu": wish}))


def test_replicas_get_a_share_each_and_a_name_each() -> None:
    made = plan(ask(model("chat", SMALL, replicas=2)))
    assert [share.service for share in made.shares] == ["chat", "chat-2"]
    assert made.shares[0].kv_bytes == pytest.approx(made.shares[1].kv_bytes, rel=0.01)


def test_a_context_beyond_the_models_own_is_said_at_its_line() -> None:
    with pytest.raises(ManifestError) as caught:
        plan(ask(model("tiny", TINY, context=16384)))
    assert caught.value.problems[0].path == ("models", 0, "context")
    assert "8192" in str(caught.value)


def test_adapters_are_billed_as_slots() -> None:
    plain = plan(ask(model("chat", SMALL, memory=4 * GIB)))
    adapted = plan(ask(model("chat", SMALL, memory=4 * GIB, adapters=[{"name": "code", "source": "./code"}])))
    assert "adapters" in [line.kind for line in adapted.shares[0].lines]
    assert adapted.shares[0].kv_bytes < plain.shares[0].kv_bytes


def test_the_host_is_planned_without_graphs_or_gate() -> None:
    host = replace(from_size("8GiB"), kind="host")
    (share,) = plan(ask(model("tiny", TINY, context=2048, requests=4), gpu=host)).shares
    assert (share.graphs, share.utilization, share.capture_sizes) == ("off", None, ())
    assert share.kv_tokens >= 2048


@settings(max_examples=1, deadline=None)
@given(st.just(1000))
def test_a_thousand_models_are_planned(count: int) -> None:
    many = [model(f"m{n}", TINY, context=512, requests=1) for n in range(count)]
    assert len(plan(ask(*many, gpu="4000GiB")).shares) == count


def test_workers_that_measure_the_card_may_not_start_together() -> None:
    asked = ask(model("chat", SMALL), model("vectors", TINY, task="embed"), start="parallel")
    encoder = replace(FACTS[TINY], attention=())
    assert plan(asked).manifest.start == "parallel"
    with pytest.raises(ManifestError) as caught:
        plan(replace(asked, facts={**FACTS, TINY: encoder}))
    assert caught.value.problems[0].path == ("start",)
    assert "vectors" in str(caught.value)


def test_a_checkpoint_that_vllm_no_longer_serves_is_said_at_its_source() -> None:
    asked = ask(model("chat", SMALL))
    with pytest.raises(ManifestError) as caught:
        plan(replace(asked, facts={SMALL: replace(FACTS[SMALL], quantization="bitsandbytes")}))
    assert caught.value.problems[0].path == ("models", 0, "source")


def test_an_8b_alone_fits_24_gb() -> None:
    (share,) = plan(ask(model("big", LLAMA, context=16384), gpu="23.5GiB")).shares
    assert share.graphs == "full"
    assert share.kv_tokens > 30_000


def test_under_windows_more_is_kept_free_and_the_plan_says_that_memory_spills() -> None:
    linux = Gpu("RTX 4090", 24 * GIB, 24 * GIB, compute_capability="8.9")
    unseen = plan(ask(*trio(), gpu=replace(linux, wddm=True)))
    live = plan(ask(*trio(), gpu=replace(linux, free_bytes=22 * GIB, wddm=True)))
    margins = [sum(line.bytes for line in made.reserved if line.kind == "margin") for made in (unseen, live)]
    assert margins == [3 * GIB, GIB]
    assert all(any("spill to the host's memory" in note for note in made.notes) for made in (unseen, live))
    plain = plan(ask(*trio(), gpu=linux))
    assert [line.bytes for line in plain.reserved if line.kind == "margin"] == [128 * MIB]
    assert not any("spill" in note for note in plain.notes)


def test_a_reserve_that_the_manifest_names_is_kept_under_windows_too() -> None:
    card = Gpu("RTX 4090", 24 * GIB, 24 * GIB, wddm=True)
    made = plan(_with_reserve(card, 4 * GIB))
    assert [(line.kind, line.bytes) for line in made.reserved] == [("reserve", 4 * GIB)]


def _with_reserve(card: Gpu, reserve: int) -> PlanInput:
    asked = ask(*trio(), gpu=card)
    gpu = asked.manifest.gpu.model_copy(update={"reserve": reserve})
    return replace(asked, manifest=asked.manifest.model_copy(update={"gpu": gpu}))
