"""A LoRA adapter, from its adapter_config.json. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kit.facts.config_fields import unusable
from kit.facts.tensors import Header, Tensor, grouped

# What PEFT can write and vLLM does not serve (lora/peft_helper.py), by the field of adapter_config.json that says so.
UNSERVED = {
    "use_dora": "DoRA", "lora_bias": "biases of its own", "alora_invocation_tokens": "activated LoRA",
    "layer_replication": "replicated layers", "use_bdlora": "block-diagonal LoRA", "use_qalora": "QALoRA",
    "modules_to_save": "whole modules beside the matrices (modules_to_save)",
}  # fmt: skip


@dataclass(frozen=True)
class AdapterFacts:
    """One LoRA adapter, from its adapter_config.json. `rank` is the largest of its ranks, `base` is
    base_model_name_or_path, `unserved` names what it uses that vLLM does not serve; `tensors` are its matrices from
    the header of adapter_model.safetensors, () for a file in another format."""

    source: str
    revision: str | None
    rank: int
    base: str
    modules: tuple[str, ...]
    unserved: tuple[str, ...] = ()
    tensors: tuple[Tensor, ...] = ()


def adapter_from_config(
    source: str, revision: str | None, config: Mapping[str, object], headers: Header | None = None
) -> AdapterFacts:
    """adapter_config.json, and the header of the weights where they have one -> AdapterFacts. Raises ModelFilesError
    when it is no LoRA's, or says no rank."""
    kind, rank = config.get("peft_type", "LORA"), config.get("r")
    if kind != "LORA":
        raise unusable(source, f"the adapter's peft_type is {kind}", "vLLM serves LoRA adapters")
    if isinstance(rank, bool) or not isinstance(rank, int) or rank < 1:
        raise unusable(
            source, f"adapter_config.json says r: {rank!r}", "the rank of the adapter, a whole number above 0"
        )
    ranks = config.get("rank_pattern")
    others = [value for value in ranks.values() if isinstance(value, int)] if isinstance(ranks, Mapping) else []
    modules = config.get("target_modules")
    return AdapterFacts(
        source=source,
        revision=revision,
        rank=max(rank, *others) if others else rank,
        base=str(config.get("base_model_name_or_path") or ""),
        modules=tuple(sorted(map(str, modules))) if isinstance(modules, list) else (str(modules),) if modules else (),
        unserved=_unserved(config),
        tensors=grouped(source, headers, tied=False) if headers else (),
    )


def _unserved(config: Mapping[str, object]) -> tuple[str, ...]:
    biases = ("biases of the base model",) if config.get("bias", "none") not in ("none", None) else ()
    return (*(what for field, what in UNSERVED.items() if config.get(field)), *biases)
