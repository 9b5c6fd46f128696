"""What vLLM adapts, and what the slots cost: sums done by hand from lora/layers of vLLM 0.26."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kit.facts.facts import from_config
from kit.memory.lora import served_rank, shapes, slot_bytes
from kit.memory.weights import lora_bytes
from tests.support.modelfiles import TINY, tiny_shapes
from tests.support.planning import FACTS, LLAMA

FUSED = {
    "model.layers.0.self_attn.qkv_proj.weight": ("BF16", (128, 64)),
    "model.layers.0.self_attn.o_proj.weight": ("BF16", (64, 64)),
    "model.layers.0.mlp.gate_up_proj.weight": ("BF16", (192, 64)),
    "model.layers.0.mlp.down_proj.weight": ("BF16", (64, 96)),
}


@pytest.mark.parametrize(("rank", "served"), [(1, 1), (2, 8), (16, 16), (17, 32), (65, 128), (512, 512), (900, 512)])
def test_ranks_are_rounded_up_to_one_that_vllm_takes(rank: int, served: int) -> None:
    assert served_rank(rank) == served


def test_a_slot_of_qwen2_holds_a_pair_for_every_part_of_every_layer_and_no_vocabulary() -> None:
    facts = FACTS["Qwen/Qwen2.5-0.5B-Instruct"]
    layer = 3 * 896 + 896 + 2 * 128 + (896 + 896) + (2 * 896 + 2 * 4864) + (4864 + 896)
    assert slot_bytes(facts, 16, 2) == 16 * 2 * 24 * layer
    assert lora_bytes(facts, 2, 16) == 2 * slot_bytes(facts, 16, 2)


def test_llama_adapts_its_vocabulary_too_and_a_tied_qwen3_does_so_three_times() -> None:
    llama, qwen3 = FACTS[LLAMA], FACTS["Qwen/Qwen3-0.6B"]
    without = replace(llama, architecture="MistralForCausalLM")
    assert slot_bytes(llama, 8, 2) - slot_bytes(without, 8, 2) == 8 * 2 * 2 * (128256 + 4096)
    plain = replace(qwen3, architecture="Qwen2ForCausalLM")
    assert qwen3.tied
    assert slot_bytes(qwen3, 8, 2) - slot_bytes(plain, 8, 2) == 8 * 2 * 3 * (151936 + 1024)


def test_a_file_that_fuses_its_layers_has_fewer_pairs() -> None:
    config = TINY | {"architectures": ["PhiForCausalLM"], "num_hidden_layers": 1}
    facts = from_config("x", None, config, FUSED)
    assert slot_bytes(facts, 1, 2) == 2 * ((128 + 64) + (64 + 64) + (192 + 64) + (64 + 96))


def test_packed_layers_cost_what_their_sizes_say() -> None:
    plain = from_config("x", None, TINY | {"architectures": ["MistralForCausalLM"]}, tiny_shapes())
    packed = replace(plain, quantization="awq", tensors=())
    assert slot_bytes(packed, 16, 2) == slot_bytes(plain, 16, 2) > 0


def test_shapes_are_the_tensors_own_and_the_usual_ones_where_there_are_none() -> None:
    facts = from_config("x", None, TINY, tiny_shapes())
    assert shapes(facts)["self_attn.k_proj"] == (32, 64)
    assert shapes(replace(facts, tensors=()))["self_attn.k_proj"] == (32, 64)
    assert shapes(facts)["embed_tokens"] == (300, 64)
