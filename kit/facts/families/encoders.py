"""Tensors of encoders, counted from config.json: BERT and RoBERTa, Nomic BERT, GTE, and vision towers. Pure."""

from __future__ import annotations

from kit.facts.config_fields import number, unusable
from kit.facts.config_json import Config
from kit.facts.tensors import (
    TensorRow,
    each,
    linear,
    table,
    vector,
)


def labels(c: Config) -> int:
    """How many classes a head tells apart; transformers assumes two."""
    return len(c.sub("id2label")) or c.number("num_labels", 2)


def bert_body(c: Config) -> list[TensorRow]:
    """Word, position and type embeddings; layers with biases everywhere."""
    place = "encoder.layer.*"
    square = ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense")
    return [
        *table("embeddings.word_embeddings", c.vocab, c.hidden),
        *table("embeddings.position_embeddings", c.positions, c.hidden),
        *table("embeddings.token_type_embeddings", c.number("type_vocab_size", 2), c.hidden),
        *vector("embeddings.LayerNorm", c.hidden, bias=True),
        *each(square, lambda name: linear(f"{place}.{name}", c.hidden, c.hidden, c.layers, bias=True)),
        *linear(f"{place}.intermediate.dense", c.intermediate, c.hidden, c.layers, bias=True),
        *linear(f"{place}.output.dense", c.hidden, c.intermediate, c.layers, bias=True),
        *vector(f"{place}.attention.output.LayerNorm", c.hidden, c.layers, bias=True),
        *vector(f"{place}.output.LayerNorm", c.hidden, c.layers, bias=True),
    ]


def bert(c: Config) -> list[TensorRow]:
    return [*bert_body(c), *linear("pooler.dense", c.hidden, c.hidden, 1, bias=True)]


def bert_classifier(c: Config) -> list[TensorRow]:
    return [*(row.under("bert.") for row in bert(c)), *linear("classifier", labels(c), c.hidden, 1, bias=True)]


def roberta_classifier(c: Config) -> list[TensorRow]:
    """No pooler; the head has a layer of its own before the scores."""
    return [
        *(row.under("roberta.") for row in bert_body(c)),
        *linear("classifier.dense", c.hidden, c.hidden, 1, bias=True),
        *linear("classifier.out_proj", labels(c), c.hidden, 1, bias=True),
    ]


def nomic_bert(c: Config) -> list[TensorRow]:
    """Rotary positions, gated MLP, no biases; the variant with experts needs its headers."""
    if c.number("num_experts", 0):
        raise unusable(c.source, "Nomic BERT with experts", "the weights' headers are needed to count its tensors")
    place, biased = "encoder.layers.*", c.flag("qkv_proj_bias")
    up = c.flag("mlp_fc1_bias")
    return [
        *table("embeddings.word_embeddings", c.vocab, c.hidden),
        *table("embeddings.token_type_embeddings", c.number("type_vocab_size", 2), c.hidden),
        *vector("emb_ln", c.hidden, bias=True),
        *linear(f"{place}.attn.Wqkv", 3 * c.hidden, c.hidden, c.layers, biased),
        *linear(f"{place}.attn.out_proj", c.hidden, c.hidden, c.layers, biased),
        *each(("fc11", "fc12"), lambda name: linear(f"{place}.mlp.{name}", c.intermediate, c.hidden, c.layers, up)),
        *linear(f"{place}.mlp.fc2", c.hidden, c.intermediate, c.layers, c.flag("mlp_fc2_bias")),
        *each(("norm1", "norm2"), lambda name: vector(f"{place}.{name}", c.hidden, c.layers, bias=True)),
    ]


def gte(c: Config) -> list[TensorRow]:
    """Rotary positions; gate and up in one tensor without a bias, all else with one."""
    place, types = "encoder.layer.*", c.number("type_vocab_size", 0)
    return [
        *table("embeddings.word_embeddings", c.vocab, c.hidden),
        *(table("embeddings.token_type_embeddings", types, c.hidden) if types else ()),
        *vector("embeddings.LayerNorm", c.hidden, bias=True),
        *linear(f"{place}.attention.qkv_proj", 3 * c.hidden, c.hidden, c.layers, bias=True),
        *linear(f"{place}.attention.o_proj", c.hidden, c.hidden, c.layers, bias=True),
        *linear(f"{place}.mlp.up_gate_proj", 2 * c.intermediate, c.hidden, c.layers),
        *linear(f"{place}.mlp.down_proj", c.hidden, c.intermediate, c.layers, bias=True),
        *each(("attn_ln", "mlp_ln"), lambda name: vector(f"{place}.{name}", c.hidden, c.layers, bias=True)),
    ]


def gte_tokens(c: Config) -> list[TensorRow]:
    return [*(row.under("new.") for row in gte(c)), *linear("classifier", labels(c), c.hidden, 1, bias=True)]


# ---- vision towers: SigLIP (Gemma 3) and Qwen2.5-VL. The defaults are those of their classes in transformers.


def siglip_tower(c: Config) -> list[TensorRow]:
    """Patches with learnt positions, layers with biases, and Gemma 3's projection to the language model."""
    place, tower = "vision_tower.vision_model", c.sub("vision_config")
    layer = f"{place}.encoder.layers.*"
    width, inner = number(c.source, tower, "hidden_size", 1152), number(c.source, tower, "intermediate_size", 4304)
    layers, patch = number(c.source, tower, "num_hidden_layers", 27), number(c.source, tower, "patch_size", 14)
    positions = (number(c.source, tower, "image_size", 896) // patch) ** 2

    def plain(name: str, out: int, into: int) -> list[TensorRow]:
        return linear(f"{layer}.{name}", out, into, layers, bias=True, packed=False)

    return [
        TensorRow(f"{place}.embeddings.patch_embedding.weight", (width, 3, patch, patch)),
        *vector(f"{place}.embeddings.patch_embedding.bias", width),
        *table(f"{place}.embeddings.position_embedding", positions, width),
        *each(("q_proj", "k_proj", "v_proj", "out_proj"), lambda name: plain(f"self_attn.{name}", width, width)),
        *plain("mlp.fc1", inner, width),
        *plain("mlp.fc2", width, inner),
        *each(("layer_norm1", "layer_norm2"), lambda name: vector(f"{layer}.{name}", width, layers, bias=True)),
        *vector(f"{place}.post_layernorm", width, bias=True),
        TensorRow("multi_modal_projector.mm_input_projection_weight", (width, c.hidden)),
        *vector("multi_modal_projector.mm_soft_emb_norm.weight", width),
    ]


def qwen2_5_vl_tower(c: Config) -> list[TensorRow]:
    """Patches of two frames, layers with a gated MLP, and the merger of 2 x 2 patches into one token."""
    tower, block = c.sub("vision_config"), "visual.blocks.*"
    width, inner = number(c.source, tower, "hidden_size", 1280), number(c.source, tower, "intermediate_size", 3420)
    depth, patch = number(c.source, tower, "depth", 32), number(c.source, tower, "patch_size", 14)
    frames = number(c.source, tower, "temporal_patch_size", 2)
    merged = width * number(c.source, tower, "spatial_merge_size", 2) ** 2

    def plain(name: str, out: int, into: int, count: int = depth) -> list[TensorRow]:
        return linear(name, out, into, count, bias=True, packed=False)

    return [
        TensorRow("visual.patch_embed.proj.weight", (width, 3, frames, patch, patch)),
        *plain(f"{block}.attn.qkv", 3 * width, width),
        *plain(f"{block}.attn.proj", width, width),
        *each(("gate_proj", "up_proj"), lambda name: plain(f"{block}.mlp.{name}", inner, width)),
        *plain(f"{block}.mlp.down_proj", width, inner),
        *each(("norm1", "norm2"), lambda name: vector(f"{block}.{name}.weight", width, depth)),
        *vector("visual.merger.ln_q.weight", width),
        *plain("visual.merger.mlp.*", merged, merged, 1),
        *plain("visual.merger.mlp.*", c.hidden, merged, 1),
    ]
