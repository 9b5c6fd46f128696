"""What a config.json may leave out, by model_type: the defaults of its configuration class in transformers. Pure."""

from __future__ import annotations

from collections.abc import Mapping

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
