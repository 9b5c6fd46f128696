"""Which models are loaded, with how many requests at once, and with what prompts; parts of every experiment. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil
from typing import Literal

from kit.bench.design import BenchRequest, Metric, StackVariant
from kit.bench.load import LoadSpec, Prompts
from kit.errors import ManifestError, Problem
from kit.manifest.model import Model
from kit.memory.bill import Share
from kit.units import MIB

SPARE = 16  # tokens left free in a context, for what a tokenizer adds
SEGMENT = 2 * MIB  # a layer's KV cache takes whole ones
NOT_ALONE = ("kv_cache", "kv_rounding", "adapters")  # lines of a bill that another cache, and no adapters, change
NO_TEXT = "no model here makes text"
TOO_FEW = "fewer than two models here can be loaded"


def loadable(request: BenchRequest) -> tuple[Model, ...]:
    """The models that `vllm bench serve` can load: they answer with text or with vectors."""
    return tuple(m for m in request.manifest.models if m.engine == "vllm" and m.task in ("generate", "embed"))


def left_out(request: BenchRequest) -> tuple[str, ...]:
    """A remark for each of the others."""
    others = [model for model in request.manifest.models if model not in loadable(request)]
    return tuple(f"{m.name} is not loaded: `vllm bench serve` asks no {m.engine} model to {m.task}" for m in others)


def single(request: BenchRequest) -> Model | None:
    """The model of an experiment that takes one; None when no model makes text. Raises ManifestError for a name that is
    not in the manifest."""
    texts = [model for model in loadable(request) if model.task == "generate"]
    found = next((model for model in texts if request.model in ("", model.name)), None)
    if request.model and found is None:
        names = ", ".join(model.name for model in texts)
        needed = f"one of {names}" if texts else "a model that makes text, and none here does"
        raise ManifestError(Problem(f"--model {request.model} cannot be taken", f"needed: {needed}"))
    return found


def share_of(request: BenchRequest, model: Model) -> Share:
    """The first worker of a model."""
    return next(share for share in request.plan.shares if share.model.name == model.name)


def cached(share: Share) -> float:
    """Bytes of a token in a worker's KV cache."""
    return share.kv_bytes / share.kv_tokens


def footprint(share: Share, tokens: int) -> int:
    """What the worker takes with a KV cache of so many tokens, at least one request's, and without adapters."""
    rest = sum(line.bytes for line in share.lines if line.kind not in NOT_ALONE)
    rounding = SEGMENT * share.facts.layers if share.facts else 0
    return rest + rounding + ceil(max(tokens, share.context) * cached(share))


def at_once(request: BenchRequest, model: Model) -> int:
    """As many requests at once as the worker takes, at most the effort's."""
    return max(min(request.effort.concurrency, share_of(request, model).requests), 1)


def plain(request: BenchRequest, model: Model) -> Prompts:
    """Random prompts, of the effort's size or half of the context each."""
    most = max((share_of(request, model).context - SPARE) // 2, 1)
    input, output = request.effort.tokens
    return Prompts(min(input, most), 0 if model.task == "embed" else min(output, most))


def alone(
    request: BenchRequest, key: str, model: Model, memory: int, replicas: int = 1, **changes: object
) -> StackVariant:
    """A stack of this model only, without adapters; each replica has `memory`."""
    only = model.model_copy(update={"replicas": replicas, "adapters": (), "memory": memory})
    return request.variant(key, models=(only,), **changes)


def sum_unit(loads: Iterable[LoadSpec]) -> tuple[str, Metric]:
    """What can be summed over loads: tokens where all of them have the same task, else requests."""
    same = len({one.task for one in loads}) == 1
    return ("tok/s", Metric("tokens")) if same else ("req/s", Metric("requests"))


def load(
    request: BenchRequest,
    model: Model,
    prompts: Prompts | None = None,
    concurrency: int | None = None,
    target: Literal["router", "worker"] = "router",
) -> LoadSpec:
    """A load on a model; a pilot sets its count."""
    return LoadSpec(
        name=model.name,
        service=share_of(request, model).service,
        task="embed" if model.task == "embed" else "generate",
        prompts=prompts or plain(request, model),
        concurrency=concurrency or at_once(request, model),
        count=0,
        target=target,
        goodput=request.goodput if model.task == "generate" else (),
    )
