"""Tensors of vision towers, counted from config.json: SigLIP (Gemma 3) and Qwen2.5-VL. Pure.

What vision_config leaves out are the defaults of its class in transformers.
"""

from __future__ import annotations

from kit.facts.config_json import Config, number
from kit.facts.families.rows import Row, linear, vector


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
