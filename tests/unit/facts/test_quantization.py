"""Quantised files without the files: their packing follows from config.json, or is not guessed."""

from __future__ import annotations

from typing import Any

import pytest

from kit.errors import ModelFilesError
from kit.facts.facts import Tensor, from_config
from tests.support.modelfiles import TINY


def tensors(**found: Any) -> dict[str, Tensor]:
    facts = from_config("org/model", None, {**TINY, "intermediate_size": 128, "quantization_config": found})
    return {tensor.name.removeprefix("model.layers.*."): tensor for tensor in facts.tensors}


def test_awq_packs_outputs_and_leaves_embeddings_and_norms() -> None:
    found = tensors(quant_method="awq", bits=4, group_size=32)
    up = {name: (t.dtype, t.shape, t.count) for name, t in found.items() if name.startswith("mlp.up_proj")}
    assert up == {
        "mlp.up_proj.qweight": ("I32", (64, 16), 2),
        "mlp.up_proj.qzeros": ("I32", (2, 16), 2),
        "mlp.up_proj.scales": ("F16", (2, 128), 2),
    }
    assert found["model.embed_tokens.weight"].dtype == "BF16"
    assert found["input_layernorm.weight"].shape == (64,)


def test_gptq_packs_inputs_and_keeps_their_order() -> None:
    found = tensors(quant_method="gptq", bits=8, group_size=-1)
    down = {name: (t.dtype, t.shape) for name, t in found.items() if name.startswith("mlp.down_proj")}
    assert down == {
        "mlp.down_proj.qweight": ("I32", (32, 64)),
        "mlp.down_proj.qzeros": ("I32", (1, 16)),
        "mlp.down_proj.scales": ("F16", (1, 64)),
        "mlp.down_proj.g_idx": ("I32", (128,)),
    }


def test_fp8_keeps_its_shape_and_adds_a_scale_for_every_block() -> None:
    found = tensors(quant_method="fp8", weight_block_size=[48, 32])
    assert found["mlp.up_proj.weight"].dtype == "F8_E4M3"
    assert found["mlp.up_proj.weight_scale_inv"].shape == (3, 2)
    assert found["mlp.up_proj.weight_scale_inv"].dtype == "F32"


def test_modules_that_the_file_keeps_are_kept_by_whole_steps_of_their_name() -> None:
    found = tensors(
        quant_method="awq", bits=4, group_size=32, modules_to_not_convert=["mlp.gate", "model.layers.1.self_attn"]
    )
    assert "mlp.gate_proj.qweight" in found
    assert found["self_attn.q_proj.weight"].dtype == "BF16"


@pytest.mark.parametrize("method", ["compressed-tensors", "modelopt", "mxfp4", "bitsandbytes", "quark"])
def test_a_packing_that_is_not_known_asks_for_the_headers(method: str) -> None:
    with pytest.raises(ModelFilesError, match=f"weights of kind {method} cannot be counted.*headers are needed"):
        tensors(quant_method=method)
