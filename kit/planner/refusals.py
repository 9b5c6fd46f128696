"""What no card serves: models, contexts and flags that vLLM or the bill cannot take, each at its line. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

from kit.errors import Problem
from kit.facts.facts import Facts
from kit.manifest.model import Model
from kit.memory.arguments import OVERRIDES
from kit.memory.flags import Flags, read_flags
from kit.memory.vllm_versions import DEFAULT_VERSION, planned_version, traits_of
from kit.units import release_text

# What vLLM serves of checkpoints (model_executor/layers/quantization/__init__.py, 0.26 to 0.32).
SERVED = (
    "awq", "auto_awq", "awq_marlin", "gptq", "auto_gptq", "gptq_marlin", "fp8", "fbgemm_fp8", "fp_quant", "modelopt",
    "modelopt_fp4", "modelopt_mxfp8", "modelopt_mixed", "compressed-tensors", "experts_int8", "quark", "moe_wna16",
    "torchao", "inc", "auto-round", "mxfp4", "gpt_oss_mxfp4", "deepseek_v4_fp8", "humming",
)  # fmt: skip
# What it makes of others while it loads them, and of which the bytes are known.
ONLINE = ("fp8", "fp8_per_tensor")
_INSTEAD = "needed: a checkpoint in AWQ, GPTQ, FP8, NVFP4, MXFP4, compressed-tensors or full precision"
_LONG = "VLLM_ALLOW_LONG_MAX_MODEL_LEN"


def impossible(index: int, model: Model, facts: Facts | None, image: str) -> Iterator[Problem]:
    """What no memory fixes: a context beyond the model's own, weights or flags that cannot be priced."""
    if facts is None:
        return
    flags = read_flags(model.args)
    yield from _context(index, model, facts, flags, image)
    if flags.speculative is not None:
        yield Problem(
            f"'{model.name}' uses speculative decoding, whose draft model cannot be priced",
            "needed: leave --speculative-config out",
            path=("models", index, "args"),
        )
    yield from _quantization(index, model, facts, flags)
    if facts.attention == () and model.task == "generate":
        yield Problem(
            f"'{model.name}' is an encoder ({facts.architecture}), which writes no text",
            "needed: task: embed, rerank or classify",
            path=("models", index, "task"),
        )


def assumed_versions(models: Iterable[Model], images: Mapping[str, str]) -> list[str]:
    """What `plan` says of models whose image does not tell which vLLM it holds."""
    asked = ((model, images.get(model.name, "")) for model in models if model.engine == "vllm")
    return [
        f"{model.name}: {image} names no version of vLLM that is known; planned as {release_text(DEFAULT_VERSION)}"
        for model, image in asked
        if image and planned_version(image) is None
    ]


def longest(model: Model, facts: Facts, image: str) -> int:
    """The longest context that a version takes, by the model's files, and by what --hf-overrides says of them; 0 where
    nothing limits it."""
    overridden = _overrides(read_flags(model.args)).get("max_position_embeddings")
    if isinstance(overridden, int):
        return overridden
    stretched = traits_of(planned_version(image)).yarn_stretches and facts.yarn_position
    return stretched or facts.max_position


def _context(index: int, model: Model, facts: Facts, flags: Flags, image: str) -> Iterator[Problem]:
    most = longest(model, facts, image)
    allowed = model.env.get(_LONG, "0") in ("1", "true", "True")
    if model.context != "auto" and most and model.context > most and not allowed:
        yield Problem(
            f"'{model.name}' takes at most {most} tokens, its context is {model.context}",
            f"needed: context {most} or less (its config.json says max_position_embeddings)",
            path=("models", index, "context"),
        )
    changed = sorted(set(_overrides(flags)) - OVERRIDES)
    if changed:
        yield Problem(
            f"--hf-overrides changes {', '.join(changed)} of '{model.name}', which the bill reads from its files",
            "needed: a folder with the changed config.json",
            path=("models", index, "args"),
        )


def _overrides(flags: Flags) -> dict[str, object]:
    """What --hf-overrides says; {} where it is no JSON object, which vLLM refuses itself."""
    try:
        found = json.loads(flags.overrides or "{}")
    except json.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def _quantization(index: int, model: Model, facts: Facts, flags: Flags) -> Iterator[Problem]:
    stored, asked = facts.quantization, flags.quantization
    if stored == "bitsandbytes":
        what = f"'{model.name}' is quantised with bitsandbytes, which vLLM no longer serves"
        yield Problem(what, _INSTEAD, path=("models", index, "source"))
    elif stored is not None and stored not in SERVED:
        named = "by a method that its config.json does not name (MLX?)" if stored == "unknown" else f"with {stored}"
        what = f"'{model.name}' is quantised {named}, which vLLM does not serve"
        yield Problem(what, _INSTEAD, path=("models", index, "source"))
    if asked is not None and (asked not in SERVED if stored else asked not in ONLINE):
        what = f"what --quantization {asked} makes of '{model.name}' is not priced"
        needed = f"needed: one of {', '.join(ONLINE)}, or a checkpoint that is quantised"
        yield Problem(what, needed, path=("models", index, "args"))
