"""facts.json: what is written is read again, and what is broken is shown at its line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from kit.errors import ModelFilesError
from kit.facts.facts import AdapterFacts, Facts, from_config
from kit.facts.facts_json import read_recorded, read_recorded_adapters, record
from tests.support.modelfiles import TINY
from tests.support.paths import ROOT
from tests.unit.facts.test_families import MORE

SHAPES = yaml.safe_load((ROOT / "tests" / "recorded" / "model_facts.yaml").read_text(encoding="utf-8"))
ADAPTER = AdapterFacts("./code", None, 16, "org/base", ("q_proj",))

# The examples' models: their source in the manifest, and whose shape it is.
EXAMPLES = {
    "trio-16gb": {
        name: name
        for name in ("HuggingFaceTB/SmolLM2-360M-Instruct", "Qwen/Qwen2.5-0.5B-Instruct", "Qwen/Qwen2.5-1.5B-Instruct")
    },
    "one-8b-24gb": {"Qwen/Qwen3-8B": "Qwen/Qwen3-8B"},
    "lora-24gb": {"mistralai/Mistral-7B-Instruct-v0.3": "mistralai/Mistral-7B-Instruct-v0.3"},
    "rag": {
        name: name for name in ("Qwen/Qwen2.5-3B-Instruct", "Qwen/Qwen3-Embedding-0.6B", "BAAI/bge-reranker-v2-m3")
    },
    "replicas": {"Qwen/Qwen2.5-0.5B-Instruct": "Qwen/Qwen2.5-0.5B-Instruct"},
} | {
    name: {"./models/SmolLM2-135M-Instruct": "HuggingFaceTB/SmolLM2-135M-Instruct"}
    for name in ("cpu-demo", "lora-cpu", "rag-cpu")
}


def tiny(source: str) -> Facts:
    return from_config(source, "abc", TINY)


def refusal(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ModelFilesError) as caught:
        read_recorded(path)
    return str(caught.value).replace(str(path), "facts.json")


def test_models_and_adapters_share_a_file_and_come_back_apart(tmp_path: Path) -> None:
    path = tmp_path / "facts.json"
    models = {"org/b": tiny("org/b"), "./ü": tiny("./ü")}
    path.write_text(record(models, {"./code": ADAPTER}), encoding="utf-8")
    assert read_recorded(path) == models
    assert read_recorded_adapters(path) == {"./code": ADAPTER}


def test_the_text_does_not_depend_on_the_order_of_the_models() -> None:
    one, two = {"a/a": tiny("a/a"), "b/b": tiny("b/b")}, {"b/b": tiny("b/b"), "a/a": tiny("a/a")}
    assert record(one) == record(two)


def test_without_a_file_nothing_is_recorded(tmp_path: Path) -> None:
    assert read_recorded(tmp_path / "facts.json") == {}


def test_broken_json_is_shown_at_its_line(tmp_path: Path) -> None:
    said = refusal(tmp_path / "facts.json", '{\n "org/a": {,\n}')
    assert said.startswith("facts.json:2:12: not JSON: Expecting property name")
    assert said.endswith('\n     "org/a": {,\n               ^')


def test_a_wrong_word_is_shown_at_its_models_line(tmp_path: Path) -> None:
    text = record({"org/a": tiny("org/a"), "org/b": tiny("org/b")})
    broken = json.loads(text)
    broken["org/b"]["hidden"] = "3"
    said = refusal(tmp_path / "facts.json", json.dumps(broken, indent=1))
    line = next(n for n, row in enumerate(json.dumps(broken, indent=1).splitlines(), 1) if '"org/b": {' in row)
    assert said.startswith(
        f'facts.json:{line}:2: ["org/b"].hidden: must be a valid integer, not "3"; record the facts again'
    )


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path / "facts.json", "[]").startswith("facts.json:1:1: not a JSON object")
    assert '["org/a"]: must be' in refusal(tmp_path / "facts.json", '{"org/a": 3}')
    (tmp_path / "facts.json").write_bytes(b"\xff\xfe")
    with pytest.raises(ModelFilesError, match="cannot be read"):
        read_recorded(tmp_path / "facts.json")


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_examples_facts_are_those_of_their_models_shapes(example: str) -> None:
    recorded = read_recorded(ROOT / "compose" / example / "facts.json")
    counted = {
        source: from_config(
            source,
            None,
            shape | {"architectures": [shape["architecture"]]},
            chat_template=True if shape["architecture"].endswith("ForCausalLM") else None,
        )
        for source, shape in (
            (source, SHAPES[name]["config"] | MORE.get(name, {})) for source, name in EXAMPLES[example].items()
        )
    }
    assert recorded == counted
