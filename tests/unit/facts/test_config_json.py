"""config.json in all its spellings becomes one value, or an error that says what is wrong with it."""

from __future__ import annotations

from typing import Any

import pytest

from kit.errors import ModelFilesError
from kit.facts.config_json import Config, parse
from kit.facts.quantization import Quantization
from tests.support.modelfiles import TINY


def config(**changes: Any) -> Config:
    return parse("org/model", {**TINY, **changes})


def test_a_missing_number_of_kv_heads_means_one_for_every_head() -> None:
    assert config(num_key_value_heads=None).kv_heads == 4


def test_head_dim_is_taken_from_the_file_before_it_is_divided_out() -> None:
    assert config(head_dim=128).head_dim == 128
    assert config().head_dim == 16
    assert config(head_dim=0).head_dim == 16


def test_old_names_are_understood() -> None:
    raw = {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "vocab_size": 50257}
    old = parse("gpt2", raw | {"n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024, "n_inner": None})
    assert (old.hidden, old.heads, old.layers, old.max_position, old.intermediate) == (768, 12, 12, 1024, 3072)


def test_the_language_part_of_a_multimodal_model_is_read() -> None:
    text = {"model_type": "gemma3_text", "hidden_size": 2560, "num_hidden_layers": 34}
    gemma = parse(
        "g", {"architectures": ["Gemma3ForConditionalGeneration"], "model_type": "gemma3", "text_config": text}
    )
    assert (gemma.hidden, gemma.layers, gemma.heads, gemma.kv_heads, gemma.head_dim) == (2560, 34, 8, 4, 256)
    assert gemma.vocab == 262208
    assert gemma.tied


def test_what_a_file_leaves_out_has_its_familys_default() -> None:
    assert config(model_type="gemma", tie_word_embeddings=None).tied
    assert not config(model_type="llama", tie_word_embeddings=None).tied
    assert not config(model_type="gemma", tie_word_embeddings=False).tied


@pytest.mark.parametrize(
    ("changes", "dtype"),
    [
        ({"torch_dtype": "torch.float16"}, "float16"),
        ({"torch_dtype": None, "dtype": "bfloat16"}, "bfloat16"),
        ({"torch_dtype": "half"}, "float16"),
        ({"torch_dtype": None}, None),
        ({"torch_dtype": "auto"}, None),
    ],
)
def test_the_stored_dtype_is_read_in_each_spelling(changes: dict[str, Any], dtype: str | None) -> None:
    assert config(**changes).dtype == dtype


@pytest.mark.parametrize(
    ("changes", "longest"),
    [
        ({}, 256),
        ({"rope_scaling": {"type": "linear", "factor": 4.0}}, 1024),
        ({"rope_scaling": {"rope_type": "dynamic", "factor": 2}}, 512),
        ({"rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}}, 256),
        ({"rope_scaling": {"rope_type": "llama3", "factor": 32.0}}, 256),
        ({"rope_parameters": {"full_attention": {"rope_type": "linear", "factor": 2.0}}}, 512),
        ({"model_type": "gemma3_text", "rope_scaling": {"rope_type": "linear", "factor": 8.0}}, 256),
        ({"model_type": "xlm-roberta", "pad_token_id": 1, "max_position_embeddings": 514}, 512),
        ({"max_position_embeddings": None}, 2048),
    ],
)
def test_the_longest_context_is_the_one_vllm_derives(changes: dict[str, Any], longest: int) -> None:
    assert config(**changes).max_position == longest


def test_the_length_that_sentence_transformers_wrote_wins() -> None:
    assert parse("m", {**TINY, "max_position_embeddings": 512}, max_seq_length=128).max_position == 128


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"hidden_size": None}, "config.json has no hidden_size"),
        ({"num_hidden_layers": "many"}, "config.json says num_hidden_layers: 'many'"),
        ({"vocab_size": -5}, "config.json says vocab_size: -5"),
        ({"num_attention_heads": 0}, "config.json says num_attention_heads: 0; a whole number, 1 or more"),
        ({"hidden_size": True}, "config.json says hidden_size: True"),
        ({"hidden_size": 64.5}, "config.json says hidden_size: 64.5"),
        ({"architectures": []}, "config.json names no architecture"),
        ({"architectures": None}, "config.json names no architecture"),
        ({"is_encoder_decoder": True}, "LlamaForCausalLM is an encoder-decoder"),
    ],
)
def test_a_config_that_cannot_be_used_says_what_is_wrong(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ModelFilesError) as caught:
        config(**changes)
    assert str(caught.value).startswith("org/model: ")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ({"quant_method": "awq", "bits": 4, "group_size": 128}, Quantization("awq", 4, 128)),
        ({"quant_method": "awq", "w_bit": 4, "q_group_size": 64}, Quantization("awq", 4, 64)),
        (
            {"quant_method": "gptq", "bits": 8, "group_size": -1, "desc_act": True},
            Quantization("gptq", 8, 0),
        ),
        (
            {"quant_method": "fp8", "weight_block_size": [128, 128], "modules_to_not_convert": ["lm_head"]},
            Quantization("fp8", keep=("lm_head",), block=(128, 128)),
        ),
        (
            {"quant_method": "compressed_tensors", "ignore": ["lm_head"]},
            Quantization("compressed-tensors", keep=("lm_head",)),
        ),
        ({"quant_method": "mxfp4"}, Quantization("mxfp4")),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, Quantization("bitsandbytes")),
        ({"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "FP8"}}, Quantization("modelopt")),
        ({"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "NVFP4"}}, Quantization("modelopt_fp4")),
    ],
)
def test_how_weights_are_quantised_is_read(found: dict[str, Any], expected: Quantization) -> None:
    assert config(quantization_config=found).quantization == expected


def test_a_model_without_quantization_config_has_none() -> None:
    assert config().quantization is None
    assert config(compression_config={"quant_method": "compressed-tensors"}).quantization is not None
