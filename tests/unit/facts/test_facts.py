"""config.json and headers -> Facts, and Facts -> JSON -> Facts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.errors import ModelFilesError
from kit.facts.facts import (
    DTYPE_BYTES,
    AdapterFacts,
    Attention,
    Facts,
    Tensor,
    from_config,
    kv_bytes_per_token,
    served_dtype,
)
from kit.facts.facts_json import parse, record
from tests.support.modelfiles import TINY, tiny_shapes


def facts_of(**changes: Any) -> Facts:
    return from_config("org/model", "abc", {**TINY, **changes})


def test_headers_and_counting_agree_on_a_family_that_is_counted() -> None:
    counted, read = facts_of(), from_config("org/model", "abc", TINY, tiny_shapes())
    assert {(t.name, t.dtype, t.shape, t.count) for t in counted.tensors} == {
        (t.name, t.dtype, t.shape, t.count) for t in read.tensors
    }
    assert counted.checkpoint_bytes == read.checkpoint_bytes == 2 * counted.parameters
    assert (counted.from_headers, read.from_headers) == (False, True)


def test_headers_are_exact_for_an_architecture_nobody_counted() -> None:
    odd = TINY | {"architectures": ["OddForCausalLM"]}
    facts = from_config("org/odd", None, odd, {"w.0": ("BF16", (8, 8)), "w.1": ("BF16", (8, 8)), "b": ("F32", (3,))})
    assert facts.checkpoint_bytes == 2 * 128 + 12
    assert facts.parameters == 131


def test_a_repeated_tied_head_is_counted_once() -> None:
    tied, untied = (from_config("m", None, TINY | {"tie_word_embeddings": tie}, tiny_shapes()) for tie in (True, False))
    assert untied.parameters - tied.parameters == 300 * 64


def test_what_the_kit_asks_later_is_all_there() -> None:
    facts = facts_of(num_experts=8, num_experts_per_tok=2, moe_intermediate_size=32, torch_dtype="float32")
    assert (facts.hidden, facts.intermediate, facts.layers, facts.heads, facts.kv_heads) == (64, 96, 2, 4, 2)
    assert (facts.head_dim, facts.vocab, facts.max_position, facts.rotary_dim) == (16, 300, 256, 16)
    assert (facts.experts, facts.experts_per_token, facts.expert_intermediate) == (8, 2, 32)
    assert (facts.stored_dtype, facts.dtype) == ("float32", "bfloat16")
    assert facts.rope_elements == 256 * 16
    assert facts.chat_template is None


def test_the_dtype_of_a_silent_config_is_that_of_its_tensors() -> None:
    silent = {name: value for name, value in TINY.items() if name != "torch_dtype"}
    assert from_config("m", None, silent, tiny_shapes()).dtype == "bfloat16"
    assert from_config("m", None, silent).stored_dtype == "float32"


@pytest.mark.parametrize(
    ("stored", "capability", "options", "served"),
    [
        ("bfloat16", "9.0", {}, "bfloat16"),
        ("float32", "9.0", {}, "bfloat16"),
        ("float32", None, {}, "bfloat16"),
        ("float32", "7.5", {}, "float16"),
        ("bfloat16", "7.5", {}, "float16"),
        ("float16", "12.0", {}, "float16"),
        ("float32", "8.6", {"pooling": True}, "float16"),
        ("bfloat16", "8.6", {"pooling": True}, "bfloat16"),
        ("bfloat16", "7.5", {"architecture": "Gemma3ForCausalLM"}, "float32"),
        ("float32", "9.0", {"architecture": "Gemma2ForCausalLM", "pooling": True}, "bfloat16"),
        ("float16", "9.0", {"architecture": "Gemma2ForCausalLM"}, "bfloat16"),
        ("float8_e4m3fn", "9.0", {}, "bfloat16"),
    ],
)
def test_the_dtype_served_is_the_one_vllm_takes_by_itself(
    stored: str, capability: str | None, options: dict[str, Any], served: str
) -> None:
    assert served_dtype(stored, capability, **options) == served


def test_states_cost_no_bytes_a_token_and_latents_one_row() -> None:
    latent = facts_of(model_type="deepseek_v2", kv_lora_rank=512, qk_rope_head_dim=64)
    assert kv_bytes_per_token(latent, 2) == 2 * 576 * 2
    assert kv_bytes_per_token(facts_of(model_type="lfm2", layer_types=["conv", "full_attention"]), 1) == 2 * 32
    assert kv_bytes_per_token(facts_of(is_causal=False)) == 0


NUMBER = st.integers(0, 10**12)
TEXT = st.text(max_size=20)
TENSOR = st.builds(
    Tensor, TEXT, st.sampled_from(sorted(DTYPE_BYTES)), st.lists(NUMBER, max_size=4).map(tuple), st.integers(1, 999)
)
ATTENTION = st.builds(
    Attention, st.sampled_from(["full", "sliding", "mla", "linear"]), NUMBER, NUMBER, NUMBER, NUMBER,
    st.none() | st.integers(1, 10**6), NUMBER,
)  # fmt: skip
FACTS = st.builds(
    Facts, source=TEXT, revision=st.none() | TEXT, architecture=TEXT, hidden=NUMBER, intermediate=NUMBER, layers=NUMBER,
    heads=NUMBER, kv_heads=NUMBER, head_dim=NUMBER, vocab=NUMBER, max_position=NUMBER, dtype=TEXT, tied=st.booleans(),
    attention=st.lists(ATTENTION, max_size=3).map(tuple), tensors=st.lists(TENSOR, max_size=5).map(tuple),
    rotary_dim=NUMBER, quantization=st.none() | TEXT, experts_per_token=NUMBER, expert_intermediate=NUMBER,
    from_headers=st.booleans(), chat_template=st.none() | st.booleans(), stored_dtype=TEXT, rope_elements=NUMBER,
    experts=NUMBER, unpacked=NUMBER,
)  # fmt: skip
ADAPTER = st.builds(
    AdapterFacts, TEXT, st.none() | TEXT, NUMBER, TEXT, st.lists(TEXT).map(tuple), st.lists(TEXT).map(tuple)
)


def written(facts: Facts | AdapterFacts) -> dict[str, Any]:
    text = record({}, {"m": facts}) if isinstance(facts, AdapterFacts) else record({"m": facts})
    entry: dict[str, Any] = json.loads(text)["m"]
    return entry


def read(entry: Any) -> Facts | AdapterFacts:
    return parse(json.dumps({"m": entry}), "facts.json")["m"]


@given(FACTS | ADAPTER)
def test_facts_survive_json_exactly(facts: Facts | AdapterFacts) -> None:
    assert read(written(facts)) == facts


def test_a_key_of_a_later_version_is_ignored() -> None:
    assert read({**written(facts_of()), "hiden": 3}) == facts_of()


def test_recorded_facts_are_a_dozen_readable_lines() -> None:
    data = written(facts_of())
    assert "2 x BF16[96, 64] model.layers.*.mlp.up_proj.weight" in data["tensors"]
    assert data["attention"] == [{"kind": "full", "layers": 2, "kv_heads": 2, "head_dim_k": 16, "head_dim_v": 16}]
    assert "quantization" not in data
    assert len(data["tensors"]) == 11


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"hidden": None}, "m.hidden: must be a valid integer, not null"),
        ({"hidden": "64"}, 'hidden: must be a valid integer, not "64"'),
        ({"tied": 1}, "tied: must be a valid boolean, not 1"),
        ({"revision": 7}, "revision: must be a valid string, not 7"),
        ({"tensors": "none"}, "tensors: must be a valid"),
        ({"tensors": ["2 x BF17[3] w"]}, "must be like '24 x BF16[896, 896]"),
        ({"tensors": [3]}, "tensors[0]: must be like"),
        ({"attention": [{"kind": "full"}]}, "attention[0].layers: is missing"),
        ({"attention": [{"kind": "odd", "layers": 1}]}, "kind: must be 'full', 'sliding', 'mla' or 'linear'"),
    ],
)
def test_recorded_facts_that_are_wrong_say_which_word(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ModelFilesError) as caught:
        read({**written(facts_of()), **changes})
    assert said in str(caught.value)


def test_recorded_facts_that_lack_a_word_say_which() -> None:
    data = written(facts_of())
    del data["vocab"]
    with pytest.raises(ModelFilesError, match="vocab: is missing"):
        read(data)
    with pytest.raises(ModelFilesError, match="must be"):
        read([data])
