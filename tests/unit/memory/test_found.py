"""Numbers of public reports that were planned wrong once: vLLM's own, or those of a log."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kit.facts.facts import Facts
from kit.memory.kv_cache import CacheRules, kv_cost
from kit.memory.weights import rope_bytes, weights_bytes
from kit.units import GIB
from tests.support.found import facts_of, first, plan_of

GEMMA, QWEN35 = facts_of("F01"), facts_of("F04")
# Gemma 4 E4B: 42 layers, every sixth full, 18 of them share caches.
E4B = facts_of(
    "F01",
    num_hidden_layers=42,
    num_attention_heads=8,
    num_key_value_heads=2,
    num_global_key_value_heads=None,
    attention_k_eq_v=False,
    num_kv_shared_layers=18,
    sliding_window=512,
    layer_types=["full_attention" if (n + 1) % 6 == 0 else "sliding_attention" for n in range(42)],
)


def one_request(facts: Facts, context: int, in_flight: int = 4096) -> float:
    """GiB of a request, as vLLM's message says it: without the null block."""
    cost = kv_cost(facts, context, CacheRules(in_flight=in_flight))
    return round(cost.blocks_per_request * cost.block_bytes / GIB, 3)


@pytest.mark.parametrize(
    ("facts", "context", "in_flight", "gib"),
    [(GEMMA, 262_144, 32_768, 45.79), (GEMMA, 262_144, 65_536, 70.79), (GEMMA, 16_384, 4096, 5.168)],
    ids=["0.25.1", "0.26", "16k"],
)
def test_gemma_4_s_blocks_hold_more_tokens_where_a_token_is_small(
    facts: Facts, context: int, in_flight: int, gib: float
) -> None:
    assert one_request(facts, context, in_flight) == pytest.approx(gib, abs=0.006)


def test_gemma_4_e4b_shares_caches_and_has_unequal_heads() -> None:
    assert one_request(E4B, 8192) == pytest.approx(0.302, abs=0.001)
    assert kv_cost(E4B, 8192).tokens(int(2.88 * GIB)) == pytest.approx(77_986, rel=0.003)


def test_0_20_keeps_all_tokens_of_unequal_heads_in_all_layers() -> None:
    old = first("F01", image="vllm/vllm-openai:v0.20.0").kv
    assert (old.token_bytes, old.tokens(int(19.43 * GIB))) == (901_120, pytest.approx(23_150, rel=0.002))
    assert first("F01", image="vllm/vllm-openai:v0.21.0").kv.tokens(int(19.43 * GIB)) > 50_000


@pytest.mark.parametrize(("case", "token"), [("F02", 73_728), ("F08", 131_072)])
def test_the_checkpoint_chooses_the_type_of_the_cache(case: str, token: int) -> None:
    candidate = first(case, args=())
    assert candidate.kv.token_bytes == token
    assert any(line.kind == "fp8_cache" for line in candidate.lines) is (case == "F02")


def test_a_scheme_of_compressed_tensors_makes_the_cache_fp8() -> None:
    scheme = {"quant_method": "compressed-tensors", "kv_cache_scheme": {"num_bits": 8, "type": "float"}}
    assert first("F08", facts_of("F08", quantization_config=scheme), args=()).kv.token_bytes == 65_536


def test_minicpm3_keeps_full_heads() -> None:
    candidate = first("F03")
    assert candidate.kv.token_bytes == 952_320
    assert one_request(facts_of("F03"), 4096) == pytest.approx(3.63, abs=0.005)
    assert candidate.kv.tokens(int(4.36 * GIB)) == pytest.approx(4916, rel=0.005)


def test_cached_prefixes_keep_two_states_a_request() -> None:
    cost = first("F04").kv
    assert (cost.tokens(int(5.98 * GIB)), round(cost.concurrency(int(5.98 * GIB)), 2)) == (567_978, 4.33)
    short = first("F04", context=8192, args=("--kv-cache-dtype", "fp8", "--enable-prefix-caching")).kv
    assert (short.tokens(225 * short.block_bytes), short.least_bytes(0) // short.block_bytes) == (184_320, 11)


def test_prefix_caching_of_states_is_the_default_of_newer_versions() -> None:
    quiet = ("--kv-cache-dtype", "fp8")
    blocks = [
        first("F04", image=f"vllm/vllm-openai:v{version}", context=8192, args=quiet).kv.blocks_per_request
        for version in ("0.26.0", "0.28.0", "0.32.1")
    ]
    assert blocks == [7, 10, 10]
    assert first("F04", image="vllm/vllm-openai:v0.32.0", args=("--no-enable-prefix-caching",)).setting.states == "one"


@pytest.mark.parametrize(
    ("kv_dtype", "token"),
    [
        ("int8_per_token_head", 65_536 + 2048),
        ("int4_per_token_head", 32_768 + 2048),
        ("nvfp4", 36_864),
        ("fp8", 65_536),
    ],
)
def test_every_type_of_cache_has_its_bytes(kv_dtype: str, token: int) -> None:
    assert first("F08", args=("--kv-cache-dtype", kv_dtype)).kv.token_bytes == token


def test_float32_doubles_weights_and_cache() -> None:
    facts = replace(facts_of("F08b"), tensors=())
    assert first("F08b", facts, args=()).kv.token_bytes * 2 == first("F08b", facts).kv.token_bytes
    whole = facts_of("F10", headers=True)
    assert weights_bytes(replace(whole, dtype="float32")) == pytest.approx(2 * weights_bytes(whole), rel=0.001)


def test_a_disabled_hybrid_manager_keeps_all_tokens() -> None:
    """gpt-oss-20b: 12 sliding and 12 full layers of 8 heads of 64."""
    kinds = facts_of(
        "F08", model_type="gpt_oss", num_hidden_layers=24, num_attention_heads=64, num_key_value_heads=8, head_dim=64,
        sliding_window=128, layer_types=["sliding_attention", "full_attention"] * 12,
    )  # fmt: skip
    cost = kv_cost(kinds, 131_072, CacheRules(keep_all=True))
    assert cost.tokens(int(6.78 * GIB)) == pytest.approx(148_040, rel=0.003)


def test_heads_that_draft_are_not_loaded() -> None:
    facts = facts_of("F10", headers=True)
    assert (weights_bytes(facts) + rope_bytes(facts)) / GIB == pytest.approx(65.52, abs=0.02)


def test_falcon_has_one_kv_head_and_step_3_5_eight() -> None:
    assert first("F13").kv.token_bytes == 8192
    step = facts_of("F08", num_hidden_layers=45, num_attention_heads=64, num_key_value_heads=None,
                    num_attention_groups=8)  # fmt: skip
    assert first("F08", step, args=()).kv.token_bytes == 184_320


def test_a_batch_is_a_whole_block_where_states_are_cached() -> None:
    assert first("F05").setting.batched_tokens == 2096
    assert first("F05", image="vllm/vllm-openai:v0.32.0").setting.batched_tokens == 2048


def test_a_batch_is_a_whole_image_or_video_where_it_sees_all_of_itself() -> None:
    assert first("F07").setting.batched_tokens == 2496
    for off in (("--limit-mm-per-prompt", '{"video": 0}'), ("--language-model-only",)):
        assert first("F07", args=off).setting.batched_tokens == 2048


def test_no_more_requests_than_states_while_graphs_are_full() -> None:
    made = plan_of("F06", "16GiB", facts_of("F06"))
    (share,) = made.shares
    assert share.graphs == "off" or share.requests <= share.kv_blocks
    assert share.degraded
