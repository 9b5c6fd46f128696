"""The KV pool's arithmetic, against logs and against its own promises."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.facts.facts import Attention, Facts
from kit.memory.kv_cache import CacheRules, KvCost, device_bytes, kv_cost
from kit.units import GIB, MIB


def facts(*attention: Attention, dtype: str = "bfloat16") -> Facts:
    layers = sum(kind.layers for kind in attention)
    return Facts("m", None, "M", 64, 64, layers, 1, 1, 64, 1000, 32768, dtype, True, attention, ())


def full(layers: int, heads: int, dim: int) -> Attention:
    return Attention("full", layers, heads, dim, dim)


@pytest.mark.parametrize(
    ("attention", "context", "kv_bytes", "tokens"),
    [
        (full(24, 2, 64), 4096, GIB, 87_376),
        (full(28, 2, 128), 4096, GIB, 37_440),
        (full(32, 5, 64), 4096, GIB, 26_208),
        (full(32, 8, 128), 4096, 2 * GIB, 16_384),
    ],
    ids=["Qwen2.5-0.5B", "Qwen2.5-1.5B", "SmolLM2-360M", "Llama-3.1-8B"],
)
def test_tokens_are_those_that_vllm_logged(attention: Attention, context: int, kv_bytes: int, tokens: int) -> None:
    assert kv_cost(facts(attention), context).tokens(kv_bytes) == tokens


def test_fp8_doubles_the_tokens() -> None:
    assert kv_cost(facts(full(24, 2, 64)), 4096, CacheRules("fp8")).tokens(GIB) == 174_752


def test_the_cpu_keeps_128_tokens_a_block() -> None:
    cost = kv_cost(facts(full(30, 3, 64)), 2048, CacheRules(block_tokens=128))
    assert (cost.tokens(512 * MIB), round(cost.concurrency(512 * MIB), 2)) == (23_296, 11.38)


def test_gemma_3_1b_is_padded_to_28_layers() -> None:
    sliding, some = Attention("sliding", 22, 1, 256, 256, window=512), full(4, 1, 256)
    cost = kv_cost(facts(sliding, some), 2048, CacheRules(in_flight=16384))
    assert cost.tensors == 4
    assert cost.blocks_per_request == 6 * (2048 // 16 + 1) + 2048 // 16


def test_a_short_window_saves_blocks_only_beyond_window_and_batches() -> None:
    sliding, some = Attention("sliding", 20, 1, 64, 64, window=512), full(4, 1, 64)
    near = kv_cost(facts(sliding, some), 4096, CacheRules(in_flight=4096))
    far = kv_cost(facts(sliding, some), 32768, CacheRules(in_flight=4096))
    assert near.blocks_per_request == 5 * (4096 // 16 + 1) + 256
    assert far.blocks_per_request == 5 * ((511 + 4096 + 15) // 16 + 1) + 2048


def test_mla_keeps_one_latent_for_all_heads() -> None:
    cost = kv_cost(facts(Attention("mla", 27, 1, 576)), 8192)
    assert cost.token_bytes == 31_104


def test_a_model_without_attention_keeps_nothing() -> None:
    cost = kv_cost(facts(), 512)
    assert (cost.bytes_for(1), cost.bytes_for(8), cost.tokens(GIB), cost.driver_bytes(GIB)) == (0, 0, 0, 0)


COSTS = st.builds(
    KvCost,
    pages=st.lists(st.integers(1, 200).map(lambda n: n * 1024), min_size=1, max_size=80).map(tuple),
    blocks_per_request=st.integers(1, 4096),
    block_tokens=st.just(16),
    context=st.just(4096),
    token_bytes=st.just(1024),
)


@given(COSTS, st.integers(0, 64 * GIB))
def test_the_largest_pool_within_a_budget_fits_it_and_one_block_more_does_not(cost: KvCost, budget: int) -> None:
    most = cost.largest_within(budget)
    assert cost.driver_bytes(most) <= budget
    assert most % cost.block_bytes == 0
    assert cost.driver_bytes(most + cost.block_bytes) > budget


@given(COSTS, st.integers(1, 300))
def test_the_least_pool_serves_one_request(cost: KvCost, requests: int) -> None:
    assert cost.concurrency(cost.bytes_for(1)) >= 1
    assert cost.bytes_for(1) <= cost.bytes_for(requests)


@given(st.integers(1, GIB))
def test_the_allocator_never_gives_less_than_asked(size: int) -> None:
    assert size <= device_bytes(size) < size + 2 * MIB
