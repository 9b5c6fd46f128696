"""adapter_config.json -> AdapterFacts."""

from __future__ import annotations

from typing import Any

import pytest

from kit.errors import ModelFilesError
from kit.facts.facts import AdapterFacts, adapter_from_config

PEFT: dict[str, Any] = {
    "peft_type": "LORA", "r": 16, "base_model_name_or_path": "org/base", "target_modules": ["v_proj", "q_proj"],
}  # fmt: skip


def adapter(**changes: Any) -> AdapterFacts:
    return adapter_from_config("./code", None, {**PEFT, **changes})


def test_an_adapter_says_its_rank_its_base_and_its_modules() -> None:
    assert adapter() == AdapterFacts("./code", None, 16, "org/base", ("q_proj", "v_proj"))


def test_the_largest_rank_counts() -> None:
    assert adapter(rank_pattern={"q_proj": 64, "v_proj": 8}).rank == 64
    assert adapter(rank_pattern={}).rank == 16


def test_modules_may_be_one_word() -> None:
    assert adapter(target_modules="all-linear").modules == ("all-linear",)
    assert adapter(target_modules=None).modules == ()


def test_what_vllm_does_not_serve_is_named() -> None:
    assert adapter(use_dora=True, lora_bias=True, use_qalora=False).unserved == ("DoRA", "biases of its own")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"r": None}, "adapter_config.json says r: None"),
        ({"r": 0}, "adapter_config.json says r: 0"),
        ({"r": True}, "adapter_config.json says r: True"),
        ({"peft_type": "IA3"}, "the adapter's peft_type is IA3; vLLM serves LoRA adapters"),
    ],
)
def test_an_adapter_that_is_none_says_why(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ModelFilesError) as caught:
        adapter(**changes)
    assert said in str(caught.value)
