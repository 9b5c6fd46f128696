"""Which models are loaded, how hard, and with what prompts: what all experiments ask of a plan. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil
from typing import Literal

from kit.bench.design import (
    BenchRequest,
    Value,
)
from kit.bench.load import (
    LoadSpec,
    Prompts,
)
from kit.errors import ManifestError, Problem
from kit.manifest.model import Model
from kit.memory.bill import Share
from kit.units import MIB

SPARE = 16  # tokens left free in a context, for what a tokenizer adds
SEGMENT = 2 * MIB  # a layer's KV cache takes whole ones
NOT_ALONE = ("kv_cache", "kv_rounding", "adapters")  # lines of a bill that another cache, and no adapters, change


def loadable(wish: BenchRequest) -> tuple[Model, ...]:
    """The models that `vllm bench serve` can load: they answer with text or with vectors."""
    return tuple(
        model for model in wish.manifest.models if model.engine == "vllm" and model.task in ("generate", "embed")
    )


def left_out(wish: BenchRequest) -> tuple[str, ...]:
    """What is said of the others."""
    taken = loadable(wish)
    others = [model for model in wish.manifest.models if model not in taken]
    return tuple(f"{m.name} is not loaded: `vllm bench serve` asks no {m.engine} model to {m.task}" for m in others)


def single(wish: BenchRequest) -> Model | None:
    """The one model of an experiment that takes one; None when none makes text. Raises ManifestError for a name that
    is not there."""
    texts = [model for model in loadable(wish) if model.task == "generate"]
    if not wish.model:
        return texts[0] if texts else None
    found = next((model for model in texts if model.name == wish.model), None)
    if found is None:
        names = ", ".join(model.name for model in texts)
        needed = f"one of {names}" if texts else "a model that makes text, and none here does"
        raise ManifestError(Problem(f"--model {wish.model} cannot be taken", f"needed: {needed}"))
    return found


def share_of(wish: BenchRequest, model: Model) -> Share:
    """The first worker of a model."""
    return next(share for share in wish.plan.shares if share.model.name == model.name)


def cached(share: Share) -> float:
    """Bytes of a token in a worker's KV cache."""
    return share.kv_bytes / share.kv_tokens


def footprint(share: Share, tokens: int) -> int:
    """What the worker takes with a KV cache of so many tokens, at least one request's, and without adapters."""
    rest = sum(line.bytes for line in share.lines if line.kind not in NOT_ALONE)
    rounding = SEGMENT * share.facts.layers if share.facts else 0
    return rest + rounding + ceil(max(tokens, share.context) * cached(share))


def at_once(wish: BenchRequest, model: Model) -> int:
    """As many requests at once as the worker takes, at most the effort's."""
    return max(min(wish.effort.concurrency, share_of(wish, model).requests), 1)


def plain(wish: BenchRequest, model: Model) -> Prompts:
    """Random prompts, of the effort's size or half of the context each."""
    most = max((share_of(wish, model).context - SPARE) // 2, 1)
    input, output = wish.effort.tokens
    return Prompts(min(input, most), 0 if model.task == "embed" else min(output, most))


def sum_unit(loads: Iterable[LoadSpec]) -> tuple[str, Value]:
    """What can be summed over loads: tokens where all of them are of one kind, else requests."""
    same = len({one.task for one in loads}) == 1
    return ("tok/s", Value("tokens")) if same else ("req/s", Value("requests"))


def load(
    wish: BenchRequest,
    model: Model,
    prompts: Prompts | None = None,
    concurrency: int | None = None,
    door: Literal["router", "worker"] = "router",
) -> LoadSpec:
    """A load on a model whose count is set later."""
    task: Literal["generate", "embed"] = "embed" if model.task == "embed" else "generate"
    return LoadSpec(
        name=model.name,
        service=share_of(wish, model).service,
        task=task,
        prompts=prompts or plain(wish, model),
        concurrency=concurrency or at_once(wish, model),
        count=0,
        door=door,
        goodput=wish.goodput if task == "generate" else (),
    )
