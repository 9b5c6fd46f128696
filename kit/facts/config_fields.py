"""The fields of a config.json: their aliases, their defaults, and whole numbers. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from kit.errors import ModelFilesError, Problem

ALIASES = {
    "hidden_size": ("n_embd", "d_model"),
    "num_hidden_layers": ("n_layer", "n_layers", "num_layers"),
    "num_attention_heads": ("n_head", "n_heads"),
    "num_key_value_heads": ("num_kv_heads", "n_head_kv", "multi_query_group_num", "num_attention_groups", "kv_n_heads"),
    "intermediate_size": ("ffn_dim", "n_inner", "ffn_hidden_size", "block_ff_dim"),
    "num_experts": ("num_local_experts",),
    "num_local_experts": ("num_experts",),
    "max_position_embeddings": ("n_positions", "max_seq_len", "seq_length", "max_sequence_length", "model_max_length"),
}

# What a file may leave out, by model_type: the defaults of its configuration class in transformers.
_GEMMA = {"tie_word_embeddings": True, "head_dim": 256}
_GEMMA3 = _GEMMA | {
    "hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 26, "num_attention_heads": 8,
    "num_key_value_heads": 4, "vocab_size": 262208, "max_position_embeddings": 131072, "sliding_window": 4096,
    "sliding_window_pattern": 6, "rope_local_base_freq": 10000,
}  # fmt: skip
_QWEN3_NEXT = {
    "full_attention_interval": 4, "head_dim": 256, "partial_rotary_factor": 0.25, "linear_conv_kernel_dim": 4,
    "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_num_key_heads": 16, "linear_num_value_heads": 32,
}  # fmt: skip
_BERT = {"tie_word_embeddings": True, "type_vocab_size": 2, "position_embedding_type": "absolute"}

DEFAULTS: Mapping[str, Mapping[str, object]] = {
    "gemma": _GEMMA,
    "gemma2": _GEMMA | {"sliding_window_pattern": 2, "sliding_window": 4096},
    "gemma3": _GEMMA3,
    "gemma3_text": _GEMMA3,
    "gemma4_text": _GEMMA3 | {"rope_local_base_freq": None, "sliding_window": 512, "global_head_dim": 512},
    "smollm3": {"tie_word_embeddings": True, "use_sliding_window": False},
    "qwen2": {"use_sliding_window": False},
    "qwen2_moe": {"use_sliding_window": False},
    "qwen2_5_vl": {"use_sliding_window": False},
    "qwen3": {"use_sliding_window": False},
    "qwen3_moe": {"use_sliding_window": False},
    "cohere": {"tie_word_embeddings": True},
    "cohere2": {"tie_word_embeddings": True, "sliding_window_pattern": 4, "sliding_window": 4096},
    "olmo3": {"sliding_window_pattern": 4, "sliding_window": 4096},
    "gpt_oss": {"sliding_window_pattern": 2, "sliding_window": 128, "head_dim": 64},
    "lfm2": {"tie_word_embeddings": True, "conv_L_cache": 3},
    "opt": {"tie_word_embeddings": True, "position_embedding_type": "absolute"},
    "gpt2": {"tie_word_embeddings": True, "position_embedding_type": "absolute"},
    "bert": _BERT,
    "roberta": _BERT | {"pad_token_id": 1},
    "camembert": _BERT | {"pad_token_id": 1},
    "xlm-roberta": _BERT | {"pad_token_id": 1},
    "nomic_bert": {"tie_word_embeddings": True, "type_vocab_size": 2},
    "qwen3_next": _QWEN3_NEXT,
    "qwen3_5_text": _QWEN3_NEXT,
    "qwen3_5_moe_text": _QWEN3_NEXT,
}


class FieldError(ModelFilesError):
    """A field of config.json is missing, or is no number: the file is wrong, or the family is one that has others."""


def unusable(source: str, what: str, needed: str = "", hint: str = "") -> ModelFilesError:
    """The error of this stage, naming the model first."""
    return ModelFilesError(Problem(f"{source}: {what}", needed, hint))


def mapping(value: object) -> Mapping[str, object]:
    """`value` when it is an object, else {}."""
    return value if isinstance(value, Mapping) else {}


def number(source: str, fields: Mapping[str, object], name: str, default: int | None = None) -> int:
    """A whole, non-negative number from `fields`, by its name or an alias."""
    value = next((fields[key] for key in (name, *ALIASES.get(name, ())) if fields.get(key) is not None), default)
    if value is None:
        raise _field(source, f"config.json has no {name}", "the kit cannot size this model")
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    least = 1 if name == "num_attention_heads" else 0
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise _field(source, f"config.json says {name}: {value!r}", f"a whole number, {least} or more")
    return value


def _field(source: str, what: str, needed: str) -> FieldError:
    return FieldError(Problem(f"{source}: {what}", needed))


def first_of(name: str, *places: Mapping[str, object]) -> object:
    """The first value of `name` that is not null."""
    return next((place[name] for place in places if place.get(name) is not None), None)
