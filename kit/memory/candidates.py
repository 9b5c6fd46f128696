"""The ways to run one worker, best first, and the order in which workers are degraded. Pure.

The order is fixed: full CUDA graphs, few graphs (batches of 1, 2, 4 and 8), fewer `requests`, a shorter `context`,
and eager last. Only what the manifest leaves to `auto` is degraded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from kit.facts.facts import Facts
from kit.gpu import Gpu
from kit.manifest.model import Model
from kit.memory.bill import Graphs, Line
from kit.memory.flags import DEFAULT_BATCHED, Flags, read_flags, switched_off
from kit.memory.kv_cache import KvCost, States, kv_cost, unequal
from kit.memory.lora import served_rank
from kit.memory.served import served
from kit.memory.vllm_versions import VersionTraits, planned_version, traits_of
from kit.memory.worker import CardTraits, WorkerSettings, capture_sizes, rest_lines
from kit.units import size

SMALL = (1, 2, 4, 8)
AUTO_REQUESTS = 256
AUTO_CONTEXT = 8192
SHORTEST = 512
IMAGE_TOKENS = (4096, 1024)


@dataclass(frozen=True)
class WorkerRequest:
    """What an engine prices: `model` on `gpu` in `image`. `facts` is None for an engine that does not know what its
    models cost; `lora_rank` is the highest of its adapters, 0 without any."""

    model: Model
    facts: Facts | None
    gpu: Gpu
    image: str = ""
    lora_rank: int = 0


@dataclass(frozen=True)
class Candidate:
    """One way to run a worker. `stage` orders the candidates; `lines` is all but the KV cache, `rest` their sum."""

    stage: int
    setting: WorkerSettings
    graphs: Graphs
    lines: tuple[Line, ...]
    kv: KvCost

    @cached_property
    def rest(self) -> int:
        return sum(line.bytes for line in self.lines)

    @cached_property
    def least_kv(self) -> int:
        """The smallest KV cache that vLLM starts with."""
        return self.kv.least_bytes(self.setting.requests if self.setting.sizes else 0)

    @cached_property
    def need(self) -> int:
        """The least footprint that serves one request of full context."""
        return self.rest + self.kv.driver_bytes(self.least_kv)


@dataclass(frozen=True)
class Worker:
    """One container to be: a model's replica, its facts and its candidates, best first."""

    service: str
    index: int
    replica: int
    model: Model
    facts: Facts | None
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True)
class Downgrade:
    """Worker number `worker` goes from its candidate `candidate - 1` to `candidate`."""

    stage: int
    saving: int
    worker: int
    candidate: int


def _with_batch(setting: WorkerSettings, facts: Facts) -> WorkerSettings:
    """A batch takes a token of every request; of an encoder, which reads no prompt in parts, one of full context; of a
    model whose images see all of themselves, a whole image or video; and a whole block where states are cached.
    vLLM refuses to start with less (planner/start_checks.py says where)."""
    least = max(setting.batched_tokens, setting.requests, setting.least_batch)
    least = max(least, 0 if facts.attention else setting.context)
    if setting.aligned:
        least = max(least, kv_cost(facts, setting.context, setting.cache_rules).block_tokens)
    return replace(setting, batched_tokens=least, in_flight=setting.in_flight * least // setting.batched_tokens)


def _settings(model: Model, facts: Facts, base: WorkerSettings) -> list[tuple[int, Graphs, WorkerSettings]]:
    """(stage, graphs, setting) of every candidate that the manifest leaves open, best first."""
    requests = _halvings(AUTO_REQUESTS, 1) if model.requests == "auto" else [model.requests]
    contexts = (
        _halvings(min(AUTO_CONTEXT, facts.max_position), SHORTEST) if model.context == "auto" else [model.context]
    )
    first = replace(base, requests=requests[0], context=contexts[0])
    fewest = replace(first, requests=requests[-1])
    last = replace(fewest, context=contexts[-1])
    images = _image_limits(model, facts)
    first, fewest, last = (replace(one, image_tokens=images[0]) for one in (first, fewest, last))
    auto = model.graphs == "auto" and not base.host
    best: Graphs = "off" if base.host else "full" if model.graphs == "auto" else model.graphs
    low: Graphs = "small" if auto else best
    found: list[tuple[int, Graphs, WorkerSettings]] = [
        (0, best, first),
        (1, low, first),
        *((2, low, replace(first, requests=count)) for count in requests[1:]),
        *((3, low, replace(fewest, context=tokens)) for tokens in contexts[1:]),
        *((3, low, replace(last, image_tokens=tokens)) for tokens in images[1:]),
        (4, "off", replace(last, image_tokens=images[-1])),
    ]
    # Graphs that the manifest names stay as they are.
    return [one for one in found if auto or one[0] not in (1, 4)]


def _image_limits(model: Model, facts: Facts) -> list[int]:
    """The largest image, in tokens: what the manifest says; else 4,096 (4 megapixels for Qwen3-VL), down to 1,024; and
    never more than a request may have. 0 where no flag limits it."""
    if facts.encoder is None or not facts.encoder.unit:
        return [0]
    longest = model.context if model.context != "auto" else facts.max_position
    if model.limits.image_tokens != "auto":
        return [min(model.limits.image_tokens, longest)]
    return [min(tokens, longest) for tokens in IMAGE_TOKENS]


def _with_graphs(setting: WorkerSettings, graphs: Graphs) -> WorkerSettings:
    full = capture_sizes(setting)
    sizes = {"full": full, "small": tuple(n for n in SMALL if n <= full[-1]), "off": ()}[graphs]
    return replace(setting, sizes=sizes)


def _halvings(start: int, least: int) -> list[int]:
    values = [start]
    while values[-1] // 2 >= least:
        values.append(values[-1] // 2)
    return values


def price(request: WorkerRequest) -> tuple[Candidate, ...]:
    """A vLLM worker's candidates, from what its weights, its flags and its version say."""
    assert request.facts is not None
    model, traits = request.model, traits_of(planned_version(request.image))
    flags, host = read_flags(model.args), request.gpu.kind == "host"
    facts = served(request.facts, flags, request.gpu.compute_capability)
    batched = flags.batched_tokens or DEFAULT_BATCHED
    states = _states(facts, flags, traits)
    base = WorkerSettings(
        context=0,
        requests=0,
        batched_tokens=batched,
        kv_dtype=flags.kv_dtype,
        block_tokens=flags.block_tokens or (128 if host else 16),
        quantization=flags.quantization,
        pooling=model.task != "generate",
        host=host,
        lora_slots=len(model.adapters),
        lora_rank=served_rank(request.lora_rank) if request.lora_rank else 0,
        in_flight=traits.overlap * batched,
        keep_all=flags.keep_all or (not traits.unequal_pages and unequal(facts)),
        states=states,
        aligned=states == "two" and traits.aligned_batch,
        prompt_logprobs=model.limits.prompt_logprobs,
        least_batch=max((tokens for item, tokens in facts.items if item not in switched_off(flags)), default=0),
    )
    return candidates(model, facts, base, CardTraits(request.gpu.compute_capability, traits))


def _states(facts: Facts, flags: Flags, traits: VersionTraits) -> States:
    """What prefix caching keeps of a model's states: a second one, or one a block where its kernels can."""
    kept = [kind for kind in facts.attention if kind.kind == "linear"]
    cached = traits.states_cached if flags.prefix_caching is None else flags.prefix_caching
    if not kept or not cached:
        return "one"
    return "block" if traits.states_per_block and all(kind.state_chunk for kind in kept) else "two"


def fixed(request: WorkerRequest, context: int, why: str) -> tuple[Candidate, ...]:
    """The footprint that the manifest fixes, for engines that divide it by their own rules."""
    model = request.model
    assert model.memory != "auto" and model.requests != "auto"
    setting = WorkerSettings(context, model.requests, batched_tokens=0, host=request.gpu.kind == "host")
    nothing = KvCost((), 0, block_tokens=1, context=context, token_bytes=0)
    return (Candidate(0, setting, "off", (Line("fixed", model.memory, why),), nothing),)


def candidates(model: Model, facts: Facts, base: WorkerSettings, card: CardTraits) -> tuple[Candidate, ...]:
    """Every candidate that costs less than the one before it, and the first."""
    kept: list[Candidate] = []
    for stage, graphs, open_setting in _settings(model, facts, base):
        setting = _with_graphs(_with_batch(open_setting, facts), graphs)
        kv = kv_cost(facts, setting.context, setting.cache_rules)
        candidate = Candidate(stage, setting, graphs, rest_lines(facts, setting, card), kv)
        if not kept or candidate.need < kept[-1].need:
            kept.append(candidate)
    return tuple(kept)


def steps(workers: Sequence[Worker]) -> list[Downgrade]:
    """All steps down, in the order they are taken: stage by stage, the largest saving first, then by name."""
    found = [
        Downgrade(below.stage, above.need - below.need, number, candidate)
        for number, worker in enumerate(workers)
        for candidate, (above, below) in enumerate(pairwise(worker.candidates), start=1)
    ]
    return sorted(found, key=lambda step: (step.stage, step.candidate, -step.saving, workers[step.worker].service))


def degraded(worker: Worker, chosen: int) -> tuple[str, ...]:
    """What candidate number `chosen` is instead of the best one, and what that saves."""
    first, last = worker.candidates[0], worker.candidates[chosen]
    said = f"{first.setting.measured} -> {last.setting.measured}: saves {size(first.need - last.need)}"
    return (said,) if chosen else ()
