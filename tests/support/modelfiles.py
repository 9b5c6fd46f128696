"""Small models to write to disk or to serve: config.json, and safetensors whose data is zeros."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import prod

from kit.facts.facts import DTYPE_BYTES

Shapes = Mapping[str, tuple[str, tuple[int, ...]]]

TINY = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "intermediate_size": 96,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 300,
    "max_position_embeddings": 256, "tie_word_embeddings": True, "torch_dtype": "bfloat16",
}  # fmt: skip


def tiny_shapes(config: Mapping[str, object] = TINY) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Every tensor of the tiny Llama, one by one, as its file names them; the tied head is stored too."""
    names = {"model.embed_tokens.weight": (300, 64), "model.norm.weight": (64,), "lm_head.weight": (300, 64)}
    for n in range(2):
        place = f"model.layers.{n}"
        names |= {f"{place}.self_attn.{name}_proj.weight": (64, 64) for name in ("q", "o")}
        names |= {f"{place}.self_attn.{name}_proj.weight": (32, 64) for name in ("k", "v")}
        names |= {f"{place}.mlp.{name}_proj.weight": (96, 64) for name in ("gate", "up")}
        names |= {f"{place}.mlp.down_proj.weight": (64, 96)}
        names |= {f"{place}.{name}_layernorm.weight": (64,) for name in ("input", "post_attention")}
    return {name: ("BF16", shape) for name, shape in names.items()}


def safetensors(shapes: Shapes) -> bytes:
    """A whole file: header length, header, zeros."""
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, (dtype, shape) in shapes.items():
        start, end = end, end + int(prod(shape) * DTYPE_BYTES.get(dtype, 1))
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + bytes(end)


def tiny_files(**changes: object) -> dict[str, bytes]:
    """The tiny Llama as a folder holds it; `changes` go into its config.json, None removes."""
    config = {name: value for name, value in {**TINY, **changes}.items() if value is not None}
    return {
        "config.json": json.dumps(config).encode(),
        "tokenizer_config.json": json.dumps({"chat_template": "{{ messages }}"}).encode(),
        "model.safetensors": safetensors(tiny_shapes()),
    }


def lora_shapes(
    rank: int = 8, out: int = 64, wide: int = 64, layers: int = 2, module: str = "self_attn.q_proj"
) -> dict[str, tuple[str, tuple[int, ...]]]:
    """The matrices of an adapter for the tiny Llama's q_proj, or for another module of other sizes."""
    names: dict[str, tuple[int, ...]] = {}
    for n in range(layers):
        place = f"base_model.model.model.layers.{n}.{module}"
        names |= {f"{place}.lora_A.weight": (rank, wide), f"{place}.lora_B.weight": (out, rank)}
    return {name: ("F32", shape) for name, shape in names.items()}
