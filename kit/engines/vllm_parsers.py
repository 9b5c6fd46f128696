"""Which of vLLM's parsers read a model's tool calls and its reasoning. Pure.

A model writes calls of tools in a format of its family's, which vLLM reads only when it is given the parser's name. The
wrong one loses calls, and a name that the version does not know ends the start. So a family that is not in the table,
or whose parser the version lacks, is served without, and `plan` says so.

Sources: vLLM's tool_parsers/__init__.py and reasoning/__init__.py (the names, by version), its docs on tool calling and
reasoning, and the model cards (which family writes which).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from kit.errors import quoted
from kit.facts.facts import Facts
from kit.manifest.model import Model
from kit.manifest.validators import Refused
from kit.memory.vllm_versions import DEFAULT_VERSION
from kit.units import release_text

Version = tuple[int, int]

_TOOLS = (
    "apertus cohere_command3 cohere_command4 deepseek_v3 deepseek_v31 deepseek_v32 deepseek_v4 deepseek_v41 dots "
    "ernie45 functiongemma gemma4 gigachat3 glm45 glm47 granite granite-20b-fc granite4 hermes hf hunyuan_a13b "
    "hy_v3 hy_v4 inkling internlm jamba k2_horizon kimi_k2 kimi_k3 lfm2 ling3 llama3_json llama4_json "
    "llama4_pythonic longcat mimo minicpm5 minimax minimax_m2 minimax_m3 mistral muse_glimmer olmo3 openai "
    "phi4_mini_json plamo3 poolside_v1 pythonic qwen3_coder qwen3_json qwen3_xml seed_oss step3 step3p5 xlam"
)
_REASONING = (
    "cohere_command3 cohere_command4 deepseek_r1 deepseek_v3 deepseek_v4 deepseek_v41 ernie45 gemma4 glm45 glm47 "
    "granite granite_thinking_parser hf holo2 hunyuan_a13b hy_v3 hy_v4 inkling k2_horizon kimi_k2 kimi_k3 ling3 "
    "mimo minicpmv minimax_m2 minimax_m2_append_think minimax_m3 mistral muse_glimmer nemotron_v3 olmo3 "
    "openai_gptoss plamo3 poolside_v1 qwen3 seed_oss step3 step3p5"
)
NAMES: Mapping[str, tuple[str, ...]] = {"tools": tuple(_TOOLS.split()), "reasoning": tuple(_REASONING.split())}
# The first version read that has a parser; those without a line are in 0.20 too. 0.21 to 0.25 were not read.
_SINCE: Mapping[str, Version] = {
    **dict.fromkeys(("apertus", "cohere_command3", "cohere_command4", "inkling", "lfm2", "minicpm5"), (0, 26)),
    **dict.fromkeys(("minimax_m3", "poolside_v1", "glm47"), (0, 26)),
    **dict.fromkeys(("dots", "kimi_k3", "ling3", "muse_glimmer"), (0, 28)),
    "hy_v4": (0, 29),
    **dict.fromkeys(("deepseek_v41", "k2_horizon"), (0, 30)),
    "granite_thinking_parser": (0, 31),
    **dict.fromkeys(("hf", "minicpmv", "plamo3", "qwen3_json"), (0, 32)),
}
_ALWAYS = {"tools": ("glm47",), "reasoning": ()}  # of one kind in 0.20 already, though not of the other
_GONE: Mapping[str, Version] = {"minimax": (0, 26)}


@dataclass(frozen=True)
class ParserFamily:
    """Models whose architecture, and whose source where it is part of the rule, match: the parsers that read them."""

    architecture: str
    source: str
    tools: str | None
    reasoning: str | None


def _family(architecture: str, source: str, tools: str | None, reasoning: str | None = None) -> ParserFamily:
    return ParserFamily(architecture, source, tools, reasoning)


_LLAMA, _ANY = "Llama|Mistral", ""
# The first row that matches counts. Patterns are searched, in lower case for the source.
FAMILIES = (
    _family(_ANY, r"deepseek-r1.*distill", None, "deepseek_r1"),
    _family(_ANY, r"hermes-[234]", "hermes"),
    _family(_ANY, r"xlam", "xlam"),
    _family(_ANY, r"functiongemma", "functiongemma"),
    _family("^Qwen3(Moe|Next)?For", r"qwen3-coder", "qwen3_coder"),
    _family("^Qwen3(Moe|Next|VL|VLMoe)?For", r"instruct|coder", "hermes"),
    _family("^Qwen3(Moe|Next|VL|VLMoe)?For", _ANY, "hermes", "qwen3"),
    _family("^Qwen3_5(Moe)?For", _ANY, "qwen3_coder", "qwen3"),
    _family("^Qwen2", r"qwq", "hermes", "deepseek_r1"),
    _family("^Qwen2(Moe)?ForCausalLM|^Qwen2_5_VLFor", _ANY, "hermes"),
    _family("^LlamaForCausalLM", r"llama-?3[._]?[123]", "llama3_json"),
    _family("^Llama4For", _ANY, "llama4_pythonic"),
    _family("^SmolLM3For", _ANY, "hermes"),
    _family("^(Mistral|Mixtral|Ministral|Pixtral)", r"magistral|reasoning", "mistral", "mistral"),
    _family("^(Mistral|Mixtral|Ministral|Pixtral)", r"mistral|ministral|devstral|mixtral|pixtral", "mistral"),
    _family("^Gemma4", _ANY, "gemma4", "gemma4"),
    _family("^GptOssFor", _ANY, "openai", "openai_gptoss"),
    _family("^Phi3For", r"phi-4-mini", "phi4_mini_json"),
    _family("^GraniteMoeHybridFor", _ANY, "granite4"),
    _family("^Granite(Moe)?For", r"granite-3", "granite"),
    _family("^Lfm2(Moe)?For", _ANY, "lfm2"),
    _family("^Olmo3For", r"think", "olmo3", "olmo3"),
    _family("^Olmo3For", r"instruct", "olmo3"),
    _family("^InternLM2For", _ANY, "internlm"),
    _family("^Jamba", _ANY, "jamba"),
    _family("^Glm4MoeFor", _ANY, "glm45", "glm45"),
    _family("^Ernie4_5", _ANY, "ernie45", "ernie45"),
    _family("^HunYuan", _ANY, "hunyuan_a13b", "hunyuan_a13b"),
    _family("^SeedOssFor", _ANY, "seed_oss", "seed_oss"),
    _family("^MiMoFor", _ANY, "mimo", "mimo"),
    _family("^ApertusFor", _ANY, "apertus"),
    _family("^MiniCPM5", _ANY, "minicpm5"),
)


@dataclass(frozen=True)
class ModelParsers:
    """The names for --tool-call-parser and --reasoning-parser, None for none; `why` there is none for tools."""

    tools: str | None = None
    reasoning: str | None = None
    why: str = ""


def family_of(facts: Facts) -> ParserFamily | None:
    """The row of a model, None when its family is not known."""
    source = facts.source.lower()
    rows = (row for row in FAMILIES if re.search(row.architecture, facts.architecture))
    return next((row for row in rows if re.search(row.source, source)), None)


def in_version(kind: str, name: str, version: Version) -> bool:
    """Whether a version of vLLM has this parser."""
    since = (0, 0) if name in _ALWAYS[kind] else _SINCE.get(name, (0, 0))
    return name in NAMES[kind] and since <= version < _GONE.get(name, (9, 9))


def parsers_of(model: Model, facts: Facts | None, version: Version | None) -> ModelParsers:
    """What reads a model's answers; `version` is that of its image, None where it is not known."""
    if model.task != "generate" or model.engine != "vllm":
        return ModelParsers()
    known = version or DEFAULT_VERSION
    row = family_of(facts) if facts else None
    reasoning = model.reasoning if model.reasoning != "auto" else row.reasoning if row else None
    if reasoning == "off" or (model.reasoning == "auto" and not in_version("reasoning", reasoning or "", known)):
        reasoning = None
    if model.tools != "auto":
        return ModelParsers(None if model.tools == "off" else model.tools, reasoning)
    why = _why_not(row, facts, known)
    return ModelParsers(row.tools if row and not why else None, reasoning, why)


def _why_not(row: ParserFamily | None, facts: Facts | None, version: Version) -> str:
    """Why the tool calls of a model are not read by themselves; "" when they are."""
    if row is None or row.tools is None:
        return f"no parser is known for {facts.architecture if facts else 'it'}"
    if not in_version("tools", row.tools, version):
        return f"vLLM {release_text(version)} has no parser {row.tools}"
    if facts and facts.tool_template is False:
        return "its chat template knows no tools"
    return ""


def remark(models: Iterable[tuple[Model, ModelParsers]]) -> str:
    """What `plan` says of the models that make text; "" where there is none."""
    on, off = [], []
    for model, found in models:
        if model.task != "generate" or model.engine != "vllm":
            continue
        thinks = f", reasoning {found.reasoning}" if found.reasoning else ""
        if found.tools:
            on.append(f"{model.name} ({found.tools}{thinks})")
        else:
            reason = found.why or "tools: off"
            off.append(f"{model.name} ({reason}{thinks})")
    parts = (f"on for {', '.join(on)}" if on else "", f"off for {', '.join(off)}" if off else "")
    said = "; ".join(part for part in parts if part)
    return f"tool calls: {said}" if said else ""


def refused(model: Model, version: Version | None) -> Iterator[tuple[str, Refused]]:
    """(key, why) of a parser that the image's vLLM does not have. One that a plug-in brings has any name."""
    known = version or DEFAULT_VERSION
    flags = {arg.partition("=")[0].replace("_", "-") for arg in model.args}
    for kind, name, plugin in (
        ("tools", model.tools, "--tool-parser-plugin"),
        ("reasoning", model.reasoning, "--reasoning-parser-plugin"),
    ):
        if name in ("auto", "off") or plugin in flags or in_version(kind, name, known):
            continue
        there = [each for each in NAMES[kind] if in_version(kind, each, known)]
        near = difflib.get_close_matches(name, there, 1)
        yield (
            kind,
            Refused(
                f"vLLM {release_text(known)} has no parser {quoted(name)}",
                f"needed: auto, off, or one of {', '.join(there)}",
                f"did you mean {near[0]}?" if near else "",
            ),
        )


def arguments(found: ModelParsers) -> tuple[str, ...]:
    """The flags of `vllm serve`."""
    tools = ("--enable-auto-tool-choice", "--tool-call-parser", found.tools) if found.tools else ()
    return (*tools, *(("--reasoning-parser", found.reasoning) if found.reasoning else ()))
