"""Which parsers read a model's tool calls: by family, by version, and what the user says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kit.engines.vllm_parsers import (
    FAMILIES,
    NAMES,
    ModelParsers,
    arguments,
    in_version,
    parsers_of,
    refused,
    remark,
)
from kit.facts.facts import Facts
from kit.manifest.model import Model
from tests.support.found import facts_of
from tests.support.paths import RECORDED


def recorded() -> dict[tuple[str, tuple[int, int]], set[str]]:
    """(kind, version) -> the names in that version's sources."""
    found = {}
    for line in (RECORDED / "vllm-parsers.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        place, _, names = line.partition(": ")
        version, kind = place.split()
        major, minor = map(int, version.split("."))
        found[kind, (major, minor)] = set(names.split())
    return found


def facts(architecture: str, source: str = "org/model", tool_template: bool | None = None) -> Facts:
    return replace(facts_of("F08"), architecture=architecture, source=source, tool_template=tool_template)


def model(**keys: object) -> Model:
    return Model.model_validate({"name": "chat", "source": "org/model", **keys})


@pytest.mark.parametrize("place", recorded(), ids=lambda place: f"{place[0]}-{place[1]}")
def test_the_table_has_the_names_of_each_version(place: tuple[str, tuple[int, int]]) -> None:
    kind, version = place
    assert {name for name in NAMES[kind] if in_version(kind, name, version)} == recorded()[place]


def test_every_family_s_parsers_are_vllm_s() -> None:
    assert {row.tools for row in FAMILIES if row.tools} <= set(NAMES["tools"])
    assert {row.reasoning for row in FAMILIES if row.reasoning} <= set(NAMES["reasoning"])


@pytest.mark.parametrize(
    ("architecture", "source", "tools", "reasoning"),
    [
        ("Qwen2ForCausalLM", "Qwen/Qwen2.5-1.5B-Instruct", "hermes", None),
        ("Qwen3ForCausalLM", "Qwen/Qwen3-8B-AWQ", "hermes", "qwen3"),
        ("Qwen3MoeForCausalLM", "Qwen/Qwen3-30B-A3B-Instruct-2507", "hermes", None),
        ("Qwen3MoeForCausalLM", "Qwen/Qwen3-30B-A3B-Thinking-2507", "hermes", "qwen3"),
        ("Qwen3MoeForCausalLM", "Qwen/Qwen3-Coder-30B-A3B-Instruct", "qwen3_coder", None),
        ("Qwen3VLForConditionalGeneration", "Qwen/Qwen3-VL-4B-Instruct", "hermes", None),
        ("Qwen3_5ForConditionalGeneration", "Qwen/Qwen3.5-4B", "qwen3_coder", "qwen3"),
        ("LlamaForCausalLM", "meta-llama/Llama-3.1-8B-Instruct", "llama3_json", None),
        ("LlamaForCausalLM", "unsloth/Llama-3.2-3B-Instruct-bnb", "llama3_json", None),
        ("LlamaForCausalLM", "NousResearch/Hermes-3-Llama-3.1-8B", "hermes", None),
        ("LlamaForCausalLM", "deepseek-ai/DeepSeek-R1-Distill-Llama-8B", None, "deepseek_r1"),
        ("Qwen2ForCausalLM", "deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", None, "deepseek_r1"),
        ("LlamaForCausalLM", "meta-llama/Meta-Llama-3-8B-Instruct", None, None),
        ("LlamaForCausalLM", "HuggingFaceTB/SmolLM2-360M-Instruct", None, None),
        ("SmolLM3ForCausalLM", "HuggingFaceTB/SmolLM3-3B", "hermes", None),
        ("Gemma3ForCausalLM", "google/functiongemma-270m-it", "functiongemma", None),
        ("Gemma3ForCausalLM", "google/gemma-3-1b-it", None, None),
        ("Gemma4ForConditionalGeneration", "google/gemma-4-e4b-it", "gemma4", "gemma4"),
        ("GptOssForCausalLM", "openai/gpt-oss-20b", "openai", "openai_gptoss"),
        ("MistralForCausalLM", "mistralai/Ministral-8B-Instruct-2410", "mistral", None),
        ("MistralForCausalLM", "mistralai/Magistral-Small-2509", "mistral", "mistral"),
        ("MistralForCausalLM", "someone/a-model", None, None),
        ("Phi3ForCausalLM", "microsoft/Phi-4-mini-instruct", "phi4_mini_json", None),
        ("Phi3ForCausalLM", "microsoft/Phi-3.5-mini-instruct", None, None),
        ("GraniteMoeHybridForCausalLM", "ibm-granite/granite-4.0-h-tiny", "granite4", None),
        ("GraniteForCausalLM", "ibm-granite/granite-3.3-8b-instruct", "granite", None),
        ("Lfm2ForCausalLM", "LiquidAI/LFM2-1.2B", "lfm2", None),
        ("Olmo3ForCausalLM", "allenai/Olmo-3-7B-Think", "olmo3", "olmo3"),
        ("Olmo3ForCausalLM", "allenai/Olmo-3-7B-Instruct", "olmo3", None),
        ("FalconForCausalLM", "tiiuae/falcon-7b", None, None),
    ],
)
def test_a_family_has_its_parsers(architecture: str, source: str, tools: str | None, reasoning: str | None) -> None:
    found = parsers_of(model(), facts(architecture, source), (0, 26))
    assert (found.tools, found.reasoning) == (tools, reasoning)
    assert bool(found.why) == (tools is None)


def test_a_parser_that_the_version_lacks_is_not_asked_for() -> None:
    lfm = facts("Lfm2ForCausalLM")
    assert parsers_of(model(), lfm, (0, 20)) == ModelParsers(why="vLLM 0.20 has no parser lfm2")
    assert parsers_of(model(), lfm, (0, 26)).tools == parsers_of(model(), lfm, None).tools == "lfm2"


def test_a_template_without_tools_is_not_asked_for_calls() -> None:
    qwen = facts("Qwen2ForCausalLM", "./models/chat", tool_template=False)
    assert parsers_of(model(), qwen, None) == ModelParsers(why="its chat template knows no tools")
    assert parsers_of(model(tools="hermes"), qwen, None).tools == "hermes"
    assert parsers_of(model(), replace(qwen, tool_template=True), None).tools == "hermes"


def test_what_the_manifest_says_counts() -> None:
    qwen = facts("Qwen3ForCausalLM")
    assert parsers_of(model(tools="off"), qwen, None) == ModelParsers(None, "qwen3")
    assert parsers_of(model(reasoning="off"), qwen, None) == ModelParsers("hermes", None)
    assert parsers_of(model(reasoning="deepseek_r1"), qwen, None) == ModelParsers("hermes", "deepseek_r1")
    assert parsers_of(model(tools="xlam"), None, None) == ModelParsers("xlam")
    assert parsers_of(model(task="embed"), qwen, None) == ModelParsers()


def test_the_flags() -> None:
    both = ModelParsers("hermes", "qwen3")
    tools = ("--enable-auto-tool-choice", "--tool-call-parser", "hermes")
    assert arguments(both) == (*tools, "--reasoning-parser", "qwen3")
    assert arguments(ModelParsers()) == ()


def test_a_name_that_the_version_does_not_have_is_refused_with_the_nearest() -> None:
    ((key, why),) = refused(model(tools="hermess"), None)
    assert (key, why.what) == ("tools", "vLLM 0.26 has no parser 'hermess'")
    assert "did you mean hermes?" in (why.hint or "")
    assert [key for key, _ in refused(model(reasoning="qwen3_json"), (0, 32))] == ["reasoning"]
    assert not list(refused(model(tools="qwen3_json"), (0, 32)))
    assert list(refused(model(tools="qwen3_json"), (0, 26)))


def test_a_plug_in_s_parser_has_any_name() -> None:
    plugin = model(tools="mine", args=["--tool-parser-plugin", "/data/mine.py"])
    assert not list(refused(plugin, None))


def test_plan_says_for_which_models() -> None:
    chat, tiny, mute = model(), model(name="tiny"), model(name="mute", tools="off")
    found = [
        (chat, ModelParsers("hermes", "qwen3")),
        (tiny, ModelParsers(why="no parser is known for LlamaForCausalLM")),
        (mute, ModelParsers()),
        (model(name="embed", task="embed"), ModelParsers()),
    ]
    assert remark(found) == (
        "tool calls: on for chat (hermes, reasoning qwen3); off for tiny (no parser is known for LlamaForCausalLM), "
        "mute (tools: off)"
    )
    assert remark([]) == ""
