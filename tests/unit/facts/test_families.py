"""Counting from config.json reproduces what is published, parameter by parameter."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from kit.errors import ModelFilesError
from kit.facts.facts import Facts, from_config, kv_bytes_per_token
from kit.facts.families.decoders import FAMILIES
from kit.units import GIB
from tests.support.modelfiles import TINY
from tests.support.paths import RECORDED

RECORDED: dict[str, dict[str, Any]] = yaml.safe_load((RECORDED / "model_facts.yaml").read_text(encoding="utf-8"))

AWQ = {"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 128}}
XLM = {"model_type": "xlm-roberta", "type_vocab_size": 1, "pad_token_id": 1}

# What the config.json of these says beyond the common shape.
MORE: dict[str, dict[str, Any]] = {
    "BAAI/bge-m3": XLM,
    "BAAI/bge-reranker-v2-m3": XLM | {"id2label": {"0": "LABEL_0"}},
    "intfloat/multilingual-e5-large": XLM,
    "nomic-ai/nomic-embed-text-v1.5": {"model_type": "nomic_bert", "type_vocab_size": 2},
    "Alibaba-NLP/gte-multilingual-base": {"model_type": "new", "type_vocab_size": 1},
    "google/gemma-2-2b-it": {"model_type": "gemma2"},
    "google/gemma-3-270m-it": {"model_type": "gemma3_text"},
    "google/gemma-3-1b-it": {"model_type": "gemma3_text"},
    "google/gemma-3-4b-it": {
        "model_type": "gemma3",
        "text_config": {
            "model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34,
            "rope_scaling": {"factor": 8.0, "rope_type": "linear"}, "sliding_window": 1024,
        },
        "vision_config": {"hidden_size": 1152, "image_size": 896, "intermediate_size": 4304, "num_hidden_layers": 27},
    },
    "Qwen/Qwen2.5-VL-3B-Instruct": {"vision_config": {"depth": 32, "hidden_size": 1280, "intermediate_size": 3420}},
    "Qwen/Qwen3-30B-A3B": {"num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768},
    "deepseek-ai/DeepSeek-V2-Lite-Chat": {
        "n_routed_experts": 64, "n_shared_experts": 2, "num_experts_per_tok": 6, "moe_intermediate_size": 1408,
        "first_k_dense_replace": 1, "qk_nope_head_dim": 128, "v_head_dim": 128, "q_lora_rank": None,
    },
    "openai/whisper-large-v3-turbo": {"is_encoder_decoder": True},
    "facebook/opt-125m": {"model_type": "opt"},
}  # fmt: skip

# Not counted: no task of the manifest serves it, so its facts are refused.
REFUSED = {"openai/whisper-large-v3-turbo": "is an encoder-decoder"}

# The published number is not the model's own: gte's file carries the classifier of NewForTokenClassification for its
# sparse vectors, 768 weights and a bias, which a config.json that names NewModel does not announce.
BESIDE = {"Alibaba-NLP/gte-multilingual-base": 768 + 1}


def config_of(name: str) -> dict[str, object]:
    config = RECORDED[name]["config"]
    outer = {"architectures": [config["architecture"]], "torch_dtype": config["torch_dtype"]}
    outer |= AWQ if name.endswith("-AWQ") else {}
    more = MORE.get(name, {})
    return outer | more if "text_config" in more else outer | config | more


def facts_of(name: str) -> Facts:
    return from_config(name, None, config_of(name))


@pytest.mark.parametrize("name", [name for name in RECORDED if name not in REFUSED])
def test_parameters_counted_from_config_are_those_published(name: str) -> None:
    assert facts_of(name).parameters + BESIDE.get(name, 0) == RECORDED[name]["expected"]["param_count"]


@pytest.mark.parametrize("name", [name for name in RECORDED if name not in REFUSED])
def test_kv_bytes_of_a_token_are_those_published(name: str) -> None:
    assert kv_bytes_per_token(facts_of(name)) == RECORDED[name]["expected"]["kv_bytes_per_token_2byte"]


@pytest.mark.parametrize("name", REFUSED)
def test_a_model_no_task_can_serve_is_refused_with_words(name: str) -> None:
    with pytest.raises(ModelFilesError, match=REFUSED[name]):
        facts_of(name)


# The files of the two small Qwen3 store the tied head a second time.
STORED_TWICE = {"Qwen/Qwen3-0.6B": 151936 * 1024, "Qwen/Qwen3-1.7B": 151936 * 2048}


@pytest.mark.parametrize("name", [name for name in RECORDED if name not in REFUSED])
def test_bytes_counted_from_config_are_the_size_of_the_files(name: str) -> None:
    facts = facts_of(name)
    stored = facts.checkpoint_bytes + 2 * STORED_TWICE.get(name, 0)
    assert stored / GIB == pytest.approx(RECORDED[name]["expected"]["safetensors_total_gib"], abs=0.02)


def test_a_tiny_model_of_every_family_has_tensors_and_names_no_tensor_twice() -> None:
    latent = {"kv_lora_rank": 16, "qk_rope_head_dim": 4, "qk_nope_head_dim": 8, "v_head_dim": 8}
    latent |= {"n_routed_experts": 4, "first_k_dense_replace": 1}
    extra = {"DeepseekV2ForCausalLM": latent, "Qwen3MoeForCausalLM": {"num_experts": 4}}
    extra |= {"MixtralForCausalLM": {"num_local_experts": 4}}
    shape = TINY | {"moe_intermediate_size": 32, "id2label": {"0": "a"}, "type_vocab_size": 2}
    for architecture in FAMILIES:
        facts = from_config("x", None, shape | extra.get(architecture, {}) | {"architectures": [architecture]})
        named = [(tensor.name, tensor.shape) for tensor in facts.tensors]
        assert len(named) == len(set(named)) > 7, architecture
        assert all(tensor.count >= 1 for tensor in facts.tensors)
        assert not facts.from_headers


def test_layers_named_in_mlp_only_layers_are_dense() -> None:
    moe = {"architectures": ["Qwen3MoeForCausalLM"], "num_experts": 4, "moe_intermediate_size": 32}
    facts = from_config("x", None, TINY | moe | {"mlp_only_layers": [1]})
    counts = {tensor.name: tensor.count for tensor in facts.tensors}
    assert counts["model.layers.*.mlp.up_proj.weight"] == 1
    assert counts["model.layers.*.mlp.experts.*.up_proj.weight"] == 4
    assert counts["model.layers.*.mlp.gate.weight"] == 1


def test_latent_queries_are_counted_where_the_file_names_their_rank() -> None:
    latent = {
        "architectures": ["DeepseekV2ForCausalLM"], "kv_lora_rank": 16, "qk_rope_head_dim": 4, "qk_nope_head_dim": 8,
        "v_head_dim": 8, "n_routed_experts": 2, "moe_intermediate_size": 32, "first_k_dense_replace": 1,
    }  # fmt: skip
    direct = {t.name: t.shape for t in from_config("x", None, TINY | latent).tensors}
    ranked = {t.name: t.shape for t in from_config("x", None, TINY | latent | {"q_lora_rank": 12}).tensors}
    assert direct["model.layers.*.self_attn.q_proj.weight"] == (4 * 12, 64)
    assert ranked["model.layers.*.self_attn.q_b_proj.weight"] == (4 * 12, 12)
    assert "model.layers.*.self_attn.q_proj.weight" not in ranked


def test_opt_projects_words_narrower_than_its_layers() -> None:
    opt = {"architectures": ["OPTForCausalLM"], "model_type": "opt", "word_embed_proj_dim": 32}
    shapes = {t.name: t.shape for t in from_config("x", None, TINY | opt | {"do_layer_norm_before": False}).tensors}
    assert shapes["model.decoder.project_in.weight"] == (64, 32)
    assert shapes["model.decoder.embed_positions.weight"] == (258, 64)
    assert "model.decoder.final_layer_norm.weight" not in shapes


def test_a_family_nobody_counted_asks_for_the_headers() -> None:
    with pytest.raises(ModelFilesError, match="the weights' headers are needed") as caught:
        from_config("org/odd", None, TINY | {"architectures": ["OddForCausalLM"]})
    assert caught.value.exit_code == 6
    assert "org/odd: OddForCausalLM" in str(caught.value)


def test_nomic_with_experts_asks_for_the_headers() -> None:
    nomic = {"architectures": ["NomicBertModel"], "model_type": "nomic_bert", "num_experts": 8}
    with pytest.raises(ModelFilesError, match="the weights' headers are needed"):
        from_config("x", None, TINY | nomic)
