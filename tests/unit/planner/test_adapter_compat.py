"""An adapter of another base stops the walk at its line; what cannot be proven is said."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kit.errors import ModelFilesError
from kit.facts.facts import AdapterFacts, Facts, adapter_from_config, from_config
from kit.gpu import from_size
from kit.manifest.model import Manifest
from kit.planner.adapter_compat import misfits, pairs, remark
from kit.planner.plan import plan
from kit.planner.workers import PlanInput
from tests.support.modelfiles import TINY, lora_shapes, safetensors, tiny_files, tiny_shapes
from tests.support.typed import kit

BASE = "org/tiny-1b-instruct"
FACTS = from_config(BASE, None, TINY, tiny_shapes())


def adapter(base: str = BASE, shapes: dict[str, Any] | None = None, **config: Any) -> AdapterFacts:
    said = {"r": 8, "base_model_name_or_path": base, "target_modules": ["q_proj"], "bias": "none", **config}
    return adapter_from_config("./code", None, said, lora_shapes() if shapes is None else shapes)


def asked(one: AdapterFacts, facts: Facts = FACTS, source: str = BASE) -> PlanInput:
    words = {"name": "chat", "source": source, "context": 256, "adapters": [{"name": "code", "source": "./code"}]}
    return PlanInput(
        Manifest.model_validate({"name": "x", "models": [words]}), {source: facts}, from_size("8GiB"), {"./code": one}
    )


def problems(one: AdapterFacts, facts: Facts = FACTS, source: str = BASE) -> list[str]:
    it = asked(one, facts, source)
    return [str(problem) for pair in pairs(it.manifest, it.facts, it.adapters) for problem in misfits(pair)]


def remarked(one: AdapterFacts, source: str = BASE) -> str:
    it = asked(one, FACTS, source)
    (pair,) = pairs(it.manifest, it.facts, it.adapters)
    assert list(misfits(pair)) == []
    return remark(pair)


def test_an_adapter_of_its_base_is_served_without_a_word() -> None:
    assert problems(adapter()) == []
    assert remarked(adapter()) == ""


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (adapter(use_dora=True), "'code' uses DoRA, which vLLM does not serve"),
        (adapter(modules_to_save=["lm_head"], bias="all"), "modules_to_save), biases of the base model, which vLLM"),
        (adapter(r=1024, shapes=lora_shapes(rank=1024)), "'code' has rank 1024, and vLLM takes at most 512"),
        (adapter(shapes=lora_shapes(wide=4096, out=4096)), "its self_attn.q_proj is for a matrix of 4096 x 4096"),
        (adapter(shapes=lora_shapes(layers=3)), "it adapts 3 layers, the model has 2"),
        (adapter(shapes=lora_shapes(module="self_attn.qkv")), "'code' adapts qkv, which org/tiny-1b-instruct"),
        (adapter("mistralai/Mistral-7B-v0.1"), "trained on mistralai/Mistral-7B-v0.1, listed under org"),
        (adapter("/home/me/Qwen2.5-0.5B"), "belongs to another base: trained on /home/me/Qwen2.5-0.5B"),
    ],
)  # fmt: skip
def test_what_cannot_be_served_is_a_problem_at_the_adapters_line(one: AdapterFacts, said: str) -> None:
    found = problems(one)
    assert len(found) == 1
    assert found[0].startswith("models[0].adapters[0].source: 'code' ")
    assert said in found[0]
    assert "; needed: " in found[0]


@pytest.mark.parametrize("base", ["unsloth/tiny-1b-instruct-bnb-4bit", "other/Tiny-1B", "./checkpoints/tiny-1b-base"])
def test_versions_of_one_model_are_siblings(base: str) -> None:
    assert f"was trained on {base}, a sibling of {BASE}" in remarked(adapter(base))


def test_a_path_says_nothing_and_the_shapes_decide() -> None:
    assert remarked(adapter("./out/checkpoint-500")) == (
        f"'code' names './out/checkpoint-500' as its base, which says nothing of {BASE}; its matrices have the model's "
        "shapes, so it is taken"
    )
    assert "could not be read" in remarked(adapter("", shapes={}))
    assert "names no base" in remarked(adapter(""))


def test_a_folder_is_named_by_its_last_part() -> None:
    assert remarked(adapter("HuggingFaceTB/SmolLM2-135M-Instruct"), "./models/SmolLM2-135M-Instruct") == ""


def test_the_vocabulary_is_adapted_where_vllm_does_it() -> None:
    head = lora_shapes(out=300, layers=1, module="x.lm_head")
    head = {name.replace(".model.layers.0.x", ""): shape for name, shape in head.items()}
    embedding = {
        "base_model.model.model.embed_tokens.lora_embedding_A": ("F32", (8, 300)),
        "base_model.model.model.embed_tokens.lora_embedding_B": ("F32", (64, 8)),
    }
    both = adapter(shapes={**head, **embedding})
    assert problems(both) == []
    mistral = replace(FACTS, architecture="MistralForCausalLM")
    assert "adapts embed_tokens, lm_head, which vLLM does not do for MistralForCausalLM" in problems(both, mistral)[0]
    longer = {name: (dtype, tuple(301 if n == 300 else n for n in shape)) for name, (dtype, shape) in embedding.items()}
    assert (
        "its embed_tokens is for a matrix of 301 x 64, the model's is 300 x 64" in problems(adapter(shapes=longer))[0]
    )
    large = replace(FACTS, vocab=300_000, tensors=())
    huge = {name: (dtype, tuple(300_000 if n == 300 else n for n in shape)) for name, (dtype, shape) in head.items()}
    assert "takes at most 258,048" in problems(adapter(shapes=huge), large)[0]


def test_a_plan_refuses_it_before_anything_is_priced() -> None:
    with pytest.raises(ModelFilesError) as caught:
        plan(asked(adapter(use_dora=True, r=2000)))
    assert [problem.path for problem in caught.value.problems] == [("models", 0, "adapters", 0, "source")] * 2
    assert caught.value.exit_code == 6


# ---- as it is typed


MANIFEST = """\
gpu: {memory: 8GiB}
models:
  - name: chat
    source: ./tiny-1b
    context: 256
    adapters:
      - name: code
        source: ./code
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A manifest with a tiny model and an adapter of it, in folders."""
    (tmp_path / "monogpu.yaml").write_text(MANIFEST)
    peft = {"peft_type": "LORA", "r": 8, "base_model_name_or_path": "org/tiny-1b", "target_modules": ["q_proj"]}
    weights = safetensors(lora_shapes())
    for name, files in {
        "tiny-1b": tiny_files(),
        "code": {"adapter_config.json": json.dumps(peft).encode(), "adapter_model.safetensors": weights},
    }.items():
        (tmp_path / name).mkdir()
        for file, body in files.items():
            (tmp_path / name / file).write_bytes(body)
    return tmp_path


def change(folder: Path, **words: object) -> None:
    file = folder / "code" / "adapter_config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | words))


def test_a_good_adapter_is_a_line_of_the_bill(folder: Path) -> None:
    (share,) = kit("plan", "--json", at=folder).good().json["shares"]
    assert "1 LoRA slot of rank 8" in [line["why"] for line in share["lines"]]


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (
            lambda at: change(at, base_model_name_or_path="Qwen/Qwen2.5-7B"),
            "'code' belongs to another base: trained on",
        ),
        (lambda at: change(at, r=1024), "'code' has rank 1024, and vLLM takes at most 512"),
        (lambda at: change(at, use_dora=True), "'code' uses DoRA"),
        (lambda at: change(at, r="many"), "adapter_config.json says r: 'many'"),
        (lambda at: (at / "code" / "adapter_model.safetensors").unlink(), "no adapter_model.safetensors there"),
        (lambda at: (at / "code" / "adapter_config.json").unlink(), "no adapter_config.json there"),
        (
            lambda at: (at / "code" / "adapter_model.safetensors").write_bytes(b"short"),
            "is not a complete safetensors file",
        ),
        (lambda at: shutil.rmtree(at / "code"), "does not exist"),
    ],
)
def test_what_is_wrong_with_an_adapter_is_said_at_its_line(
    folder: Path, spoil: Callable[[Path], object], said: str
) -> None:
    spoil(folder)
    for verb in ("plan", "render"):
        refused = kit(verb, at=folder)
        assert refused.code == 6
        assert "monogpu.yaml:8:17: models[0].adapters[0].source: " in refused.err
        assert said in refused.err
    assert not (folder / "docker-compose.yaml").exists()
