"""Tensors of encoders, counted from config.json: BERT and RoBERTa, Nomic BERT, GTE, and vision towers. Pure."""

from __future__ import annotations

from kit.facts.config_fields import number, unusable
from kit.facts.config_json import Config
from kit.facts.tensors import Row, linear, table, vector


def labels(c: Config) -> int:
    """How many classes a head tells apart; transformers assumes two."""
    return len(c.sub("id2label")) or c.number("num_labels", 2)


def bert_body(c: Config) -> list[Row]:
    """Word, position and type embeddings; layers with biases everywhere."""
    place = "encoder.layer.*"
    rows = table("embeddings.word_embeddings", c.vocab, c.hidden)
    rows += table("embeddings.position_embeddings", c.positions, c.hidden)
    rows += table("embeddings.token_type_embeddings", c.number("type_vocab_size", 2), c.hidden)
    rows += vector("embeddings.LayerNorm", c.hidden, bias=True)
    for name in ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"):
        rows += linear(f"{place}.{name}", c.hidden, c.hidden, c.layers, bias=True)
    rows += linear(f"{place}.intermediate.dense", c.intermediate, c.hidden, c.layers, bias=True)
    rows += linear(f"{place}.output.dense", c.hidden, c.intermediate, c.layers, bias=True)
    for name in ("attention.output.LayerNorm", "output.LayerNorm"):
        rows += vector(f"{place}.{name}", c.hidden, c.layers, bias=True)
    return rows


def bert(c: Config) -> list[Row]:
    return [*bert_body(c), *linear("pooler.dense", c.hidden, c.hidden, 1, bias=True)]


def bert_classifier(c: Config) -> list[Row]:
    return [*(row.under("bert.") for row in bert(c)), *linear("classifier", labels(c), c.hidden, 1, bias=True)]


def roberta_classifier(c: Config) -> list[Row]:
    """No pooler; the head has a layer of its own before the scores."""
    return [
        *(row.under("roberta.") for row in bert_body(c)),
        *linear("classifier.dense", c.hidden, c.hidden, 1, bias=True),
        *linear("classifier.out_proj", labels(c), c.hidden, 1, bias=True),
    ]


def nomic_bert(c: Config) -> list[Row]:
    """Rotary positions, gated MLP, no biases; the variant with experts is left to its headers."""
    if c.number("num_experts", 0):
        raise unusable(c.source, "Nomic BERT with experts", "the weights' headers are needed to count its tensors")
    place = "encoder.layers.*"
    rows = table("embeddings.word_embeddings", c.vocab, c.hidden)
    rows += table("embeddings.token_type_embeddings", c.number("type_vocab_size", 2), c.hidden)
    rows += vector("emb_ln", c.hidden, bias=True)
    rows += linear(f"{place}.attn.Wqkv", 3 * c.hidden, c.hidden, c.layers, c.flag("qkv_proj_bias"))
    rows += linear(f"{place}.attn.out_proj", c.hidden, c.hidden, c.layers, c.flag("qkv_proj_bias"))
    for name in ("fc11", "fc12"):
        rows += linear(f"{place}.mlp.{name}", c.intermediate, c.hidden, c.layers, c.flag("mlp_fc1_bias"))
    rows += linear(f"{place}.mlp.fc2", c.hidden, c.intermediate, c.layers, c.flag("mlp_fc2_bias"))
    for name in ("norm1", "norm2"):
        rows += vector(f"{place}.{name}", c.hidden, c.layers, bias=True)
    return rows


def gte(c: Config) -> list[Row]:
    """Rotary positions; gate and up in one tensor without a bias, all else with one."""
    place = "encoder.layer.*"
    rows = table("embeddings.word_embeddings", c.vocab, c.hidden)
    if c.number("type_vocab_size", 0):
        rows += table("embeddings.token_type_embeddings", c.number("type_vocab_size"), c.hidden)
    rows += vector("embeddings.LayerNorm", c.hidden, bias=True)
    rows += linear(f"{place}.attention.qkv_proj", 3 * c.hidden, c.hidden, c.layers, bias=True)
    rows += linear(f"{place}.attention.o_proj", c.hidden, c.hidden, c.layers, bias=True)
    rows += linear(f"{place}.mlp.up_gate_proj", 2 * c.intermediate, c.hidden, c.layers)
    rows += linear(f"{place}.mlp.down_proj", c.hidden, c.intermediate, c.layers, bias=True)
    for name in ("attn_ln", "mlp_ln"):
        rows += vector(f"{place}.{name}", c.hidden, c.layers, bias=True)
    return rows


def gte_tokens(c: Config) -> list[Row]:
    return [*(row.under("new.") for row in gte(c)), *linear("classifier", labels(c), c.hidden, 1, bias=True)]


# ---- vision towers: SigLIP (Gemma 3) and Qwen2.5-VL. The defaults are those of their classes in transformers.


def siglip_tower(c: Config) -> list[Row]:
    """Patches with learnt positions, layers with biases, and Gemma 3's projection to the language model."""
    place, tower = "vision_tower.vision_model", c.sub("vision_config")
    width, inner = number(c.source, tower, "hidden_size", 1152), number(c.source, tower, "intermediate_size", 4304)
    layers, patch = number(c.source, tower, "num_hidden_layers", 27), number(c.source, tower, "patch_size", 14)
    positions = (number(c.source, tower, "image_size", 896) // patch) ** 2
    rows = [Row(f"{place}.embeddings.patch_embedding.weight", (width, 3, patch, patch))]
    rows += vector(f"{place}.embeddings.patch_embedding.bias", width)
    rows += [Row(f"{place}.embeddings.position_embedding.weight", (positions, width))]
    for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
        rows += linear(f"{place}.encoder.layers.*.self_attn.{name}", width, width, layers, bias=True, packed=False)
    rows += linear(f"{place}.encoder.layers.*.mlp.fc1", inner, width, layers, bias=True, packed=False)
    rows += linear(f"{place}.encoder.layers.*.mlp.fc2", width, inner, layers, bias=True, packed=False)
    for name in ("layer_norm1", "layer_norm2"):
        rows += vector(f"{place}.encoder.layers.*.{name}", width, layers, bias=True)
    rows += vector(f"{place}.post_layernorm", width, bias=True)
    rows += [Row("multi_modal_projector.mm_input_projection_weight", (width, c.hidden))]
    return [*rows, *vector("multi_modal_projector.mm_soft_emb_norm.weight", width)]


def qwen2_5_vl_tower(c: Config) -> list[Row]:
    """Patches of two frames, layers with a gated MLP, and the merger of 2 x 2 patches into one token."""
    tower = c.sub("vision_config")
    width, inner = number(c.source, tower, "hidden_size", 1280), number(c.source, tower, "intermediate_size", 3420)
    depth, patch = number(c.source, tower, "depth", 32), number(c.source, tower, "patch_size", 14)
    merged = width * number(c.source, tower, "spatial_merge_size", 2) ** 2
    rows = [
        Row(
            "visual.patch_embed.proj.weight",
            (width, 3, number(c.source, tower, "temporal_patch_size", 2), patch, patch),
        )
    ]
    rows += linear("visual.blocks.*.attn.qkv", 3 * width, width, depth, bias=True, packed=False)
    rows += linear("visual.blocks.*.attn.proj", width, width, depth, bias=True, packed=False)
    for name in ("gate_proj", "up_proj"):
        rows += linear(f"visual.blocks.*.mlp.{name}", inner, width, depth, bias=True, packed=False)
    rows += linear("visual.blocks.*.mlp.down_proj", width, inner, depth, bias=True, packed=False)
    for name in ("norm1", "norm2"):
        rows += vector(f"visual.blocks.*.{name}.weight", width, depth)
    rows += vector("visual.merger.ln_q.weight", width)
    rows += linear("visual.merger.mlp.*", merged, merged, 1, bias=True, packed=False)
    return [*rows, *linear("visual.merger.mlp.*", c.hidden, merged, 1, bias=True, packed=False)]
