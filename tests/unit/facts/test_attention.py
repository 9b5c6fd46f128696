"""Which layers remember what, for every way that files say it."""

from __future__ import annotations

from typing import Any

import pytest

from kit.errors import ModelFilesError
from kit.facts.attention import Attention, attention, layer_kinds, rope_elements, rotary_dim
from kit.facts.config_json import Config, parse
from kit.units import GIB
from tests.support.modelfiles import TINY


def config(**changes: Any) -> Config:
    return parse("org/model", {**TINY, **changes})


def groups(**changes: Any) -> list[tuple[str, int, int | None]]:
    return [(group.kind, group.layers, group.window) for group in attention(config(**changes))]


def test_a_plain_decoder_is_one_group_of_full_attention() -> None:
    assert attention(config()) == (Attention("full", 2, kv_heads=2, head_dim_k=16, head_dim_v=16),)


def test_a_window_that_is_switched_off_is_no_window() -> None:
    qwen = {"model_type": "qwen2", "sliding_window": 64, "max_window_layers": 1}
    assert groups(**qwen, use_sliding_window=False) == [("full", 2, None)]
    assert groups(**qwen) == [("full", 2, None)]
    assert groups(**qwen, use_sliding_window=True) == [("full", 1, None), ("sliding", 1, 64)]


def test_a_window_alone_makes_every_layer_slide() -> None:
    assert groups(model_type="mistral", sliding_window=128) == [("sliding", 2, 128)]
    assert groups(model_type="mistral", sliding_window=0) == [("full", 2, None)]


def test_a_window_as_long_as_the_longest_context_is_full_attention_that_names_it() -> None:
    assert groups(model_type="phi3", sliding_window=256) == [("full", 2, 256)]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"layer_types": ["sliding_attention", "full_attention"] * 3}, ["sliding", "full"] * 3),
        ({"model_type": "gemma2"}, ["sliding", "full"] * 3),
        ({"sliding_window_pattern": 3}, ["sliding", "sliding", "full"] * 2),
        ({"model_type": "gemma3_text"}, ["sliding"] * 5 + ["full"]),
        ({"full_attention_interval": 3}, ["linear_attention", "linear_attention", "full"] * 2),
        ({"model_type": "lfm2", "full_attn_idxs": [2, 5]}, ["conv", "conv", "full"] * 2),
        ({"layers_block_type": ["mamba"] * 5 + ["attention"]}, ["mamba"] * 5 + ["full"]),
    ],
)
def test_the_kind_of_every_layer_is_read(changes: dict[str, Any], expected: list[str]) -> None:
    assert layer_kinds(config(num_hidden_layers=6, sliding_window=64, **changes)) == expected


def test_latent_attention_keeps_one_latent_for_all_heads() -> None:
    assert attention(config(model_type="deepseek_v2", kv_lora_rank=512, qk_rope_head_dim=64)) == (
        Attention("mla", 2, 1, 576),
    )


def test_a_latent_of_a_family_outside_vllm_s_list_is_kept_as_full_heads() -> None:
    """MiniCPM3: q and k of 64 + 32, v padded to the same width."""
    latent = {"kv_lora_rank": 256, "qk_nope_head_dim": 64, "qk_rope_head_dim": 32, "v_head_dim": 64}
    assert attention(config(model_type="minicpm3", **latent)) == (Attention("full", 2, 4, 96, 96),)


def test_a_v_of_no_width_is_as_wide_as_k() -> None:
    assert attention(config(v_head_dim=0)) == (Attention("full", 2, 2, 16, 16),)


@pytest.mark.parametrize(
    "changes",
    [
        {"model_type": "bert"},
        {"model_type": "xlm-roberta"},
        {"model_type": "nomic_bert"},
        {"model_type": "qwen2", "is_causal": False},
        {"model_type": "gemma3_text", "use_bidirectional_attention": True},
    ],
)
def test_an_encoder_keeps_nothing(changes: dict[str, Any]) -> None:
    assert attention(config(**changes)) == ()


def test_a_gated_delta_net_keeps_a_state_whatever_the_length() -> None:
    """Qwen3-Next: conv (2 x 16 x 128 + 32 x 128) x 3 and 32 matrices of 128 x 128, in 2 bytes."""
    linear, full = attention(config(model_type="qwen3_next", num_hidden_layers=48))
    assert (linear.kind, linear.layers) == ("linear", 36)
    assert (linear.state_bytes, linear.ssm_width) == (8192 * 3 * 2 + 32 * 128 * 128 * 2, 2)
    assert (full.kind, full.layers, full.head_dim_k) == ("full", 12, 256)


def test_a_state_kept_in_float32_takes_four_bytes() -> None:
    linear = attention(config(model_type="qwen3_5_text", num_hidden_layers=4, mamba_ssm_dtype="float32"))[0]
    assert linear.state_bytes == 8192 * 3 * 2 + 32 * 128 * 128 * 4


def test_mamba_2_and_short_convolutions_keep_states() -> None:
    mamba = {"mamba_n_groups": 1, "mamba_d_state": 128, "mamba_d_conv": 4, "mamba_expand": 2}
    for word in ("mamba", "linear_attention"):
        state = attention(config(layer_types=[word, "attention"], **mamba))[0].state_bytes
        assert state == (128 + 2 * 128) * 3 * 2 + 128 * 128 * 2
    conv = attention(config(layer_types=["conv", "full_attention"], conv_L_cache=3))[0]
    assert conv.state_bytes == 64 * 2 * 2


def test_layers_that_share_the_cache_of_others_keep_none_of_their_own() -> None:
    assert groups(num_kv_shared_layers=1) == [("full", 1, None)]


def test_full_layers_may_have_heads_of_their_own() -> None:
    gemma = config(
        model_type="gemma4_text", num_hidden_layers=6, global_head_dim=64, num_global_key_value_heads=1, head_dim=16,
        attention_k_eq_v=True, sliding_window=64,
    )  # fmt: skip
    sliding, full = attention(gemma)
    assert (sliding.layers, sliding.kv_heads, sliding.head_dim_k) == (5, 2, 16)
    assert (full.layers, full.kv_heads, full.head_dim_k) == (1, 1, 64)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"layer_types": ["full_attention", "recurrent"]}, "has layers of kind 'recurrent'"),
        ({"attn_layer_period": 8}, "has Mamba layers between its attention (attn_layer_period in config.json)"),
        ({"attention_chunk_size": 8192}, "has chunked attention"),
        ({"layer_types": ["linear_attention", "full_attention"]}, "config.json has no linear_num_key_heads"),
    ],
)
def test_memory_of_an_unknown_kind_is_refused_by_its_name(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ModelFilesError) as caught:
        attention(config(**changes))
    assert said in str(caught.value)


def test_only_part_of_a_head_is_turned_where_the_file_says_so() -> None:
    assert rotary_dim(config()) == 16
    assert rotary_dim(config(partial_rotary_factor=0.75)) == 12
    assert rotary_dim(config(rope_parameters={"rope_type": "default", "partial_rotary_factor": 0.25})) == 4
    assert rotary_dim(config(kv_lora_rank=512, qk_rope_head_dim=64)) == 64
    assert rotary_dim(config(model_type="opt")) == 0
    assert rope_elements(config(model_type="bert")) == 0


@pytest.mark.parametrize(
    ("changes", "rows"),
    [
        ({}, 256),
        ({"rope_scaling": {"rope_type": "llama3", "factor": 32.0, "original_max_position_embeddings": 64}}, 256),
        ({"rope_scaling": {"type": "linear", "factor": 2.0}}, 512),
        ({"rope_scaling": {"rope_type": "dynamic", "factor": 2.0}}, 256),
        ({"rope_scaling": {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 64}}, 512),
        ({"rope_scaling": {"rope_type": "yarn", "factor": 4.0}}, 1024),
        ({"rope_scaling": {"type": "longrope"}, "original_max_position_embeddings": 64}, 320),
        ({"rope_scaling": {"type": "mrope", "mrope_section": [2, 3, 3]}}, 1024),
        ({"model_type": "gemma3_text", "sliding_window": 64, "num_hidden_layers": 6, "head_dim": 16}, 512),
    ],
)
def test_the_tables_of_cosines_have_a_row_for_every_position(changes: dict[str, Any], rows: int) -> None:
    assert rope_elements(config(**changes)) == rows * 16


def test_gemma_3_4b_has_tables_that_explain_what_it_loads_beyond_its_files() -> None:
    """vLLM logged 8.58 GiB for 8.01 GiB of files: 8 x 131072 rows for full layers, 131072 for sliding ones."""
    scaling = {"factor": 8.0, "rope_type": "linear"}
    text = {"model_type": "gemma3_text", "hidden_size": 2560, "num_hidden_layers": 34, "rope_scaling": scaling}
    gemma = parse("g", {"architectures": ["Gemma3ForConditionalGeneration"], "text_config": text})
    assert 2 * rope_elements(gemma) / GIB == pytest.approx(8.58 - 8.01, abs=0.01)
