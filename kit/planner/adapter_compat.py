"""Whether an adapter belongs to its model. Pure.

Theory. A LoRA adapter is a pair of matrices for each layer that it changes: A is rank x in, B is out x rank. So its
shapes say what model it was made for, and its adapter_config.json says the name of that model. Shapes are proof of a
wrong base; a name is proof only where both names are those of models: it may as well be a path on the machine where
the adapter was trained. What is proven is an error at the adapter's line; what cannot be is a remark on the plan.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from kit.errors import KeyPath, Problem, quoted
from kit.facts.facts import Facts
from kit.facts.lora_adapter import AdapterFacts
from kit.facts.tensors import Tensor
from kit.manifest.model import Manifest, Model
from kit.memory.lora import ADAPTED_VOCABULARY, LARGEST_HEAD, RANKS, place, shapes

# Words that tell versions of one model apart, whose weights an adapter fits alike.
_VARIANTS = {
    "instruct", "base", "chat", "it", "hf", "meta", "unsloth", "bnb", "4bit", "8bit", "awq", "gptq", "fp8", "int4",
    "int8", "w4a16", "w8a8", "bf16", "fp16", "quantized", "dynamic",
}  # fmt: skip
_SIZE = re.compile(r"(?:\d+x)?\d+(?:\.\d+)?[bmk]")
_MATRIX = re.compile(r"(?:base_model\.model\.)?(.+)\.(?:lora_(A|B)\.weight|lora_embedding_(A|B))")
_VOCABULARY = ("embed_tokens", "lm_head")
_OTHER = {"A": "B", "B": "A"}


@dataclass(frozen=True)
class Pair:
    """One adapter and its model, at `path` of the manifest."""

    path: KeyPath
    name: str
    adapter: AdapterFacts
    model: Model
    facts: Facts


def pairs(manifest: Manifest, facts: Mapping[str, Facts], adapters: Mapping[str, AdapterFacts]) -> tuple[Pair, ...]:
    """Every adapter whose files were read, with its model. Facts are keyed by source text."""
    return tuple(
        Pair(("models", i, "adapters", j, "source"), adapter.name, adapters[adapter.source], model, facts[model.source])
        for i, model in enumerate(manifest.models)
        for j, adapter in enumerate(model.adapters)
        if adapter.source in adapters
    )


def misfits(pair: Pair) -> Iterator[Problem]:
    """What keeps vLLM from serving the adapter on its model: one problem of each kind at most."""
    adapter, said = pair.adapter, quoted(pair.name)
    if adapter.unserved:
        yield Problem(
            f"{said} uses {', '.join(adapter.unserved)}, which vLLM does not serve",
            "needed: a plain LoRA adapter; or merge it into its base, and list that as a model of its own",
            path=pair.path,
        )
    if adapter.rank > RANKS[-1]:
        yield Problem(
            f"{said} has rank {adapter.rank}, and vLLM takes at most {RANKS[-1]}",
            "needed: an adapter of a lower rank; or merge it into its base",
            path=pair.path,
        )
    if wrong := _wrong_shape(pair) or _wrong_name(pair):
        yield Problem(f"{said} belongs to another base: {wrong}", _needed(pair), path=pair.path)
    elif strange := _strange(pair):
        yield Problem(f"{said} {strange}", "needed: an adapter of what vLLM adapts: linear layers", path=pair.path)


def remark(pair: Pair) -> str:
    """What could not be proven of a pair that was accepted, "" when its names agree."""
    base, here = pair.adapter.base, pair.model.source_parsed.place
    if _last(base) == _last(here):
        return ""
    fits = "its matrices have the model's shapes" if pair.adapter.tensors else "its matrices could not be read"
    if _comparable(base, here):
        return (
            f"'{pair.name}' was trained on {base}, a sibling of {here}: it is served, and answers as well as they agree"
        )
    named = f"names {quoted(base)} as its base" if base else "names no base"
    return f"'{pair.name}' {named}, which says nothing of {here}; {fits}, so it is taken"


def _needed(pair: Pair) -> str:
    trained = f"this one was trained on {quoted(pair.adapter.base)}" if pair.adapter.base else "this one names no base"
    return (
        f"needed: an adapter of {pair.model.source_parsed.place}; {trained}. "
        "If that is the same model under another name, write it as base_model_name_or_path in adapter_config.json"
    )


def _wrong_name(pair: Pair) -> str:
    """Names that are those of two models."""
    base, here = pair.adapter.base, pair.model.source_parsed.place
    if not _comparable(base, here) or _family(base) == _family(here):
        return ""
    return f"trained on {base}, listed under {here}"


def _comparable(one: str, other: str) -> bool:
    """Whether both carry a size, as the names of models do (7B, 135M, 4k), and paths mostly do not."""
    return all(any(_SIZE.fullmatch(word) for word in _words(name)) for name in (one, other))


def _family(name: str) -> list[str]:
    return [word for word in _words(name) if word not in _VARIANTS]


def _words(name: str) -> list[str]:
    return re.split(r"[-_ ]+", _last(name))


def _last(name: str) -> str:
    return name.rstrip("/").rpartition("/")[2].lower()


def _wrong_shape(pair: Pair) -> str:
    """The first matrix that cannot be multiplied with the model's, in words."""
    known = shapes(pair.facts)
    for matrix in _matrices(pair.adapter.tensors):
        if matrix.place not in known:
            continue
        out, wide = known[matrix.place]
        if (matrix.out or out, matrix.wide or wide) != (out, wide):
            made_for = f"{matrix.out or out} x {matrix.wide or wide}"
            return f"its {matrix.place} is for a matrix of {made_for}, the model's is {out} x {wide}"
        if matrix.place not in _VOCABULARY and matrix.layers > pair.facts.layers:
            return f"it adapts {matrix.layers} layers, the model has {pair.facts.layers}"
    return ""


def _strange(pair: Pair) -> str:
    """A part of the model that is not there, or that vLLM does not adapt: it would refuse to load the adapter."""
    facts = pair.facts
    parts = {matrix.place.rpartition(".")[2] for matrix in _matrices(pair.adapter.tensors)}
    there = {word for tensor in facts.tensors for word in tensor.name.split(".")}
    lost = sorted(part for part in parts if part not in there and part not in _VOCABULARY)
    if lost and there:
        return f"adapts {', '.join(lost)}, which {pair.model.source_parsed.place} does not have"
    whole = sorted(parts & set(_VOCABULARY))
    if whole and facts.architecture not in ADAPTED_VOCABULARY:
        return f"adapts {', '.join(whole)}, which vLLM does not do for {facts.architecture}"
    if whole and facts.vocab > LARGEST_HEAD:
        return f"adapts a vocabulary of {facts.vocab:,} entries, and vLLM takes at most {LARGEST_HEAD:,}"
    return ""


@dataclass(frozen=True)
class _Matrix:
    """What a pair A, B changes: `out` x `wide` in `layers` layers; None for a side whose matrix is not there."""

    place: str
    out: int | None = None
    wide: int | None = None
    layers: int = 0


def _matrices(tensors: tuple[Tensor, ...]) -> tuple[_Matrix, ...]:
    """One a place. lora_A is rank x in and lora_B out x rank; an embedding's are the other way round: lora_embedding_A
    is rank x vocabulary, lora_embedding_B hidden x rank."""
    found: dict[str, _Matrix] = {}
    for tensor in tensors:
        match = _MATRIX.fullmatch(tensor.name)
        if not match or len(tensor.shape) != 2:
            continue
        letter = match.group(2) or match.group(3)
        where, length = place(match.group(1)), tensor.shape[-1] if letter == "A" else tensor.shape[0]
        side = letter if match.group(2) else _OTHER[letter]
        one = found.get(where, _Matrix(where))
        one = replace(one, wide=length) if side == "A" else replace(one, out=length)
        found[where] = replace(one, layers=one.layers + (tensor.count if letter == "A" else 0))
    return tuple(found.values())
