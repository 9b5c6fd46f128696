"""The KV cache layout of a model, from its config.json: full, sliding and latent attention, or a state. Pure.

Theory. Each layer is of one kind; equal layers are counted. The kind alone determines what vLLM keeps for a token or a
request. A kind whose state cannot be computed here is refused by name: a plan without it would be wrong.
Sources: vLLM v1/kv_cache_interface.py (pages), model_executor/layers/mamba/mamba_utils.py (states),
engine/arg_utils.py (which layers slide), model_executor/layers/rotary_embedding (tables).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from kit.facts.config_fields import mapping, unusable
from kit.facts.config_json import Config, scaling, scaling_kind

# Encoders see their whole input at once and have no KV cache.
ENCODERS = {
    "albert", "bert", "camembert", "deberta", "deberta-v2", "distilbert", "electra", "eurobert", "gte", "modernbert",
    "mpnet", "new", "nomic_bert", "roberta", "xlm-roberta", "xlm-roberta-xl",
}  # fmt: skip

# Fields of models whose cache is none of the kinds below.
STRANGE = {
    "attention_chunk_size": "chunked attention",
    "attn_layer_period": "Mamba layers between its attention",
    "block_configs": "layers of different shapes",
    "compress_ratios": "compressed attention",
    "cross_attention_layers": "cross attention",
    "hybrid_override_pattern": "Mamba layers between its attention",
    "index_topk": "an attention index",
    "linear_attn_config": "linear attention of its own kind",
    "mamba_d_ssm": "Mamba heads beside its attention",
    "ssm_cfg": "Mamba layers",
    "state_size": "Mamba layers",
}

# The model types whose latent vLLM keeps instead of full heads (transformers_utils/model_arch_config_convertor.py,
# is_deepseek_mla; 0.26 and 0.32).
LATENT = {
    "axk1", "bailing_hybrid", "bailing_hybrid_mtp", "bailing_hybrid_v3_mtp", "deepseek_mtp", "deepseek_v2",
    "deepseek_v3", "deepseek_v32", "deepseek_v4", "deepseek_v41", "dots3_note", "glm4_moe_lite", "glm4_moe_lite_mtp",
    "glm5_next", "glm5_next_text", "glm_moe_dsa", "hy_v4", "hy_v4_mtp", "k3_dspark", "kimi_k2", "kimi_linear",
    "longcat_flash", "longcat_flash_ngram", "pangu_ultra_moe", "pangu_ultra_moe_mtp",
}  # fmt: skip

# Architectures whose kernels can keep a state for every block of a prefix (SupportsMambaPrefixCaching in 0.26).
PER_BLOCK = {"BambaForCausalLM", "GraniteMoeHybridForCausalLM", "Mamba2ForCausalLM"}

KINDS = {"full_attention": "full", "attention": "full", "sliding_attention": "sliding"}


@dataclass(frozen=True)
class Attention:
    """The cache of `layers` layers. full and sliding: `kv_heads` x (`head_dim_k` + `head_dim_v`) a token; sliding
    keeps `window` tokens; mla: one latent of `head_dim_k` (kv_lora_rank + qk_rope_head_dim), no v; linear: a
    state of `state_bytes` a request in each layer, whatever its length; `state_chunk` tokens are one step of the kernel
    of a kind that can keep a state for every block of a prefix, 0 for others. Of `state_bytes`, `ssm_elements` take
    `ssm_width` bytes each, which --mamba-ssm-cache-dtype changes. A full group has a `window` when the model
    declares one that is never shorter than its longest context."""

    kind: Literal["full", "sliding", "mla", "linear"]
    layers: int
    kv_heads: int = 0
    head_dim_k: int = 0
    head_dim_v: int = 0
    window: int | None = None
    state_bytes: int = 0
    state_chunk: int = 0
    ssm_elements: int = 0
    ssm_width: int = 0


def attention(c: Config) -> tuple[Attention, ...]:
    """The groups of equal layers, in the order they first occur; () for an encoder. Raises ModelFilesError for a kind
    that the kit cannot size."""
    if encoder(c):
        return ()
    _refuse_strange(c)
    kinds = layer_kinds(c)
    keeping = kinds[: len(kinds) - c.number("num_kv_shared_layers", 0)]
    counted = Counter(_one(c, kind) for kind in keeping)
    return tuple(replace(group, layers=count) for group, count in counted.items())


def encoder(c: Config) -> bool:
    """Whether every token attends to all others, so that nothing is cached."""
    return (
        c.model_type in ENCODERS
        or not c.flag("is_causal", True)
        or c.fields.get("use_bidirectional_attention") in (True, "all")
    )


def latent(c: Config) -> bool:
    """Whether one latent is kept for all heads: MLA, for the model types of vLLM's list alone."""
    family = c.model_type or {"DeepseekV2ForCausalLM": "deepseek_v2"}.get(c.architecture)
    return family in LATENT and bool(c.fields.get("kv_lora_rank"))


def window(c: Config) -> int | None:
    """The sliding window, None when it is switched off (some files keep a number beside use_sliding_window: false)."""
    return c.number("sliding_window", 0) or None if c.flag("use_sliding_window", True) else None


def layer_kinds(c: Config) -> list[str]:
    """The kind of every layer: full, sliding, or the file's own name for another."""
    listed = c.strings("layer_types") or c.strings("layers_block_type")
    if listed:
        return [KINDS.get(kind, kind) for kind in listed]
    every = c.number("full_attention_interval", 0)
    if every:
        return ["linear_attention" if (i + 1) % every else "full" for i in range(c.layers)]
    full = c.fields.get("full_attn_idxs")
    if isinstance(full, list):
        return ["full" if i in full else "conv" for i in range(c.layers)]
    if window(c) is None:
        return ["full"] * c.layers
    return _sliding_kinds(c)


def _sliding_kinds(c: Config) -> list[str]:
    """Every nth layer full (sliding_window_pattern), the first max_window_layers full, or all of them sliding."""
    pattern = c.number("sliding_window_pattern", 0)
    if pattern:
        return ["sliding" if (i + 1) % pattern else "full" for i in range(c.layers)]
    first = c.number("max_window_layers", 0)
    return ["full" if i < first else "sliding" for i in range(c.layers)]


def _one(c: Config, kind: str) -> Attention:
    """One layer of `kind`."""
    if kind in STATES:
        return STATES[kind](c)
    if kind not in ("full", "sliding"):
        raise unusable(c.source, f"{c.architecture} has layers of kind {kind!r}", "the kit cannot size their cache")
    if latent(c):
        return Attention("mla", 1, 1, c.number("kv_lora_rank") + c.number("qk_rope_head_dim"))
    span = window(c) if kind == "sliding" else None
    if span is not None and span >= c.max_position:
        kind = "full"
    heads, width = c.kv_heads, c.head_dim
    if kind == "full" and "global_head_dim" in c.fields:
        width = c.number("global_head_dim")
        heads = c.number("num_global_key_value_heads", heads) if c.flag("attention_k_eq_v") else heads
    if c.fields.get("kv_lora_rank"):  # full heads, of which v is padded to the width of k
        width = c.number("qk_nope_head_dim") + c.number("qk_rope_head_dim")
        return Attention("full", 1, c.heads, width, width)
    narrow = c.number("v_head_dim", width) or width
    return Attention("sliding" if kind == "sliding" else "full", 1, heads, width, narrow, span)


def _refuse_strange(c: Config) -> None:
    for field, what in STRANGE.items():
        if field in c.fields:
            raise unusable(
                c.source, f"{c.architecture} has {what} ({field} in config.json)", "the kit cannot size its memory yet"
            )


def _element(c: Config) -> int:
    """Bytes of one element of a state: models are served in 16 bits, unless the file wants states kept in 32."""
    wanted = c.fields.get("mamba_ssm_dtype") or c.fields.get("mamba_ssm_cache_dtype")
    return 4 if wanted == "float32" else 2


def _state(conv: int, ssm: int, width: int, chunk: int = 0) -> Attention:
    """A state of `conv` and `ssm` elements; the convolution's inputs are kept in the 16 bits that are served."""
    return Attention("linear", 1, 0, 0, 0, None, conv * 2 + ssm * width, chunk, ssm, width)


def _delta_net(c: Config) -> Attention:
    """Gated delta net (Qwen3-Next, Qwen3.5): the convolution's last inputs, and a matrix for each value head."""
    keys = c.number("linear_num_key_heads") * c.number("linear_key_head_dim")
    values = c.number("linear_num_value_heads") * c.number("linear_value_head_dim")
    conv = (2 * keys + values) * (c.number("linear_conv_kernel_dim") - 1)
    return _state(conv, values * c.number("linear_key_head_dim"), _element(c))


def _mamba2(c: Config) -> Attention:
    """Mamba 2 (Granite hybrids, Bamba): the convolution's last inputs, and a state for each head."""
    inner = c.number("mamba_expand", 2) * c.hidden
    conv = (inner + 2 * c.number("mamba_n_groups") * c.number("mamba_d_state")) * (c.number("mamba_d_conv") - 1)
    chunk = c.number("mamba_chunk_size", 256) if c.architecture in PER_BLOCK else 0
    return _state(conv, inner * c.number("mamba_d_state"), _element(c), chunk)


def _short_conv(c: Config) -> Attention:
    """LFM2: the last inputs of a short convolution."""
    return _state(c.hidden * (c.number("conv_L_cache") - 1), 0, 0)


def _linear(c: Config) -> Attention:
    """What "linear_attention" means depends on the family: Granite's newer files call Mamba 2 so."""
    return _mamba2(c) if "mamba_d_state" in c.fields else _delta_net(c)


STATES = {"linear_attention": _linear, "mamba": _mamba2, "conv": _short_conv}


def rotary_dim(c: Config) -> int:
    """How many dimensions of a head RoPE rotates; 0 with learnt positions."""
    if c.fields.get("position_embedding_type") in ("absolute", "nope", "alibi") or c.flag("alibi"):
        return 0
    if c.fields.get("kv_lora_rank"):
        return c.number("qk_rope_head_dim")
    part = scaling(c.fields).get("partial_rotary_factor")
    share = float(part) if isinstance(part, int | float) else c.factor("partial_rotary_factor", c.factor("rotary_pct"))
    return int(c.head_dim * share)


def rope_elements(c: Config) -> int:
    """Elements of the cos/sin tables that vLLM keeps on the card: one of rows x rotary_dim for each way to turn.

    Layers of one model share a table; Gemma 3 and 4 turn sliding layers their own way, so they have two."""
    width = rotary_dim(c)
    if not width:
        return 0
    found = scaling(c.fields)
    wide = c.number("global_head_dim", width) if scaling_kind(found) == "proportional" else width
    local = c.positions * width if _second_table(c) else 0
    known = found.get("original_max_position_embeddings") or c.number("original_max_position_embeddings", c.positions)
    return _rows(c.positions, known if isinstance(known, int) else c.positions, found) * wide + local


def _second_table(c: Config) -> bool:
    nested = "full_attention" in mapping(c.fields.get("rope_parameters"))
    return "sliding" in layer_kinds(c) and (nested or "rope_local_base_freq" in c.fields)


def _rows(positions: int, original: int, found: Mapping[str, object]) -> int:
    """Positions in one table: what the scaling stretches to; longrope has two in one, image positions take four."""
    kind = scaling_kind(found)
    factor = found.get("factor")
    stretch = factor if isinstance(factor, int | float) else 1
    if kind == "linear":
        return int(positions * stretch)
    if "yarn" in kind:
        return int(original * stretch)
    if kind == "longrope":
        return positions + original
    return positions * 4 if "mrope_section" in found else positions
