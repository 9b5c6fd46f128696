"""The candidates one worker may stand on, best first, and the order in which workers step down. Pure.

The order is fixed: full CUDA graphs, few graphs (batches of 1, 2, 4 and 8), fewer `requests`, a shorter `context`,
and eager last. Only what the manifest leaves to `auto` is ever given up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from kit.facts.facts import Facts
from kit.gpu import Gpu
from kit.manifest.model import Model
from kit.memory.bill import Graphs, Line
from kit.memory.flags import read_flags
from kit.memory.kv_cache import KvCost, kv_cost
from kit.memory.vllm_versions import (
    traits_of,
    version_of,
)
from kit.memory.worker import (
    CardTraits,
    WorkerSettings,
    base_setting,
    capture_sizes,
    rest_lines,
)
from kit.units import size

SMALL = (1, 2, 4, 8)
AUTO_REQUESTS = 256
AUTO_CONTEXT = 8192
SHORTEST = 512


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
    """One way to run a worker. `stage` orders the ladder; `lines` is all but the KV cache, `rest` their sum."""

    stage: int
    setting: WorkerSettings
    graphs: Graphs
    lines: tuple[Line, ...]
    kv: KvCost

    @cached_property
    def rest(self) -> int:
        return sum(line.bytes for line in self.lines)

    @cached_property
    def need(self) -> int:
        """The least footprint that serves one request of full context."""
        return self.rest + self.kv.driver_bytes(self.kv.minimum_bytes)

    def said(self) -> str:
        """The candidate in words."""
        return said(self.setting.requests, self.setting.context, self.setting.sizes)


def said(requests: int, context: int, sizes: Sequence[int]) -> str:
    """How a worker is run, in words; a lock keeps them to know its candidate again."""
    graphs = f"{len(sizes)} graphs for batches of up to {sizes[-1]}" if sizes else "no graphs"
    return f"{requests} requests of {context} tokens, {graphs}"


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


def settings(model: Model, facts: Facts, base: WorkerSettings) -> Iterator[tuple[int, Graphs, WorkerSettings]]:
    """(stage, graphs, setting) of every candidate that the manifest leaves open, best first."""
    for stage, kind, setting in _settings(model, facts, base):
        yield stage, kind, _with_graphs(_with_batch(setting, facts), kind)


def _with_batch(setting: WorkerSettings, facts: Facts) -> WorkerSettings:
    """A batch takes a token of every request; and an encoder, which reads no prompt in parts, one of full context.
    vLLM refuses to start with less (config/scheduler.py, verify_max_model_len)."""
    least = max(setting.requests, 0 if facts.attention else setting.context)
    if setting.batched_tokens >= least:
        return setting
    return replace(setting, batched_tokens=least, in_flight=setting.in_flight * least // setting.batched_tokens)


def _settings(model: Model, facts: Facts, base: WorkerSettings) -> Iterator[tuple[int, Graphs, WorkerSettings]]:
    requests = _halvings(AUTO_REQUESTS, 1) if model.requests == "auto" else [model.requests]
    contexts = (
        _halvings(min(AUTO_CONTEXT, facts.max_position), SHORTEST) if model.context == "auto" else [model.context]
    )
    first = replace(base, requests=requests[0], context=contexts[0])
    kinds = _graph_kinds(model, base)
    for stage, kind in enumerate(kinds[:2] if len(kinds) > 1 else kinds):
        yield stage, kind, first
    low: Graphs = kinds[1] if len(kinds) > 1 else kinds[0]
    for count in requests[1:]:
        yield 2, low, replace(first, requests=count)
    fewest = replace(first, requests=requests[-1])
    for tokens in contexts[1:]:
        yield 3, low, replace(fewest, context=tokens)
    if len(kinds) > 1:
        yield 4, "off", replace(fewest, context=contexts[-1])


def _graph_kinds(model: Model, base: WorkerSettings) -> list[Graphs]:
    if base.host:
        return ["off"]
    return ["full", "small", "off"] if model.graphs == "auto" else [model.graphs]


def _with_graphs(setting: WorkerSettings, graphs: Graphs) -> WorkerSettings:
    full = capture_sizes(setting)
    sizes = {"full": full, "small": tuple(n for n in SMALL if n <= full[-1]), "off": ()}[graphs]
    return replace(setting, sizes=sizes)


def _halvings(start: int, least: int) -> list[int]:
    values = [start]
    while values[-1] // 2 >= least:
        values.append(values[-1] // 2)
    return values


def price(wish: WorkerRequest) -> tuple[Candidate, ...]:
    """A vLLM worker's candidates, from what its weights, its flags and its version say."""
    assert wish.facts is not None
    way = traits_of(version_of(wish.image))
    base = base_setting(
        read_flags(wish.model.args),
        way,
        wish.gpu.kind == "host",
        wish.model.task != "generate",
        len(wish.model.adapters),
        wish.lora_rank,
    )
    return candidates(wish.model, wish.facts, base, CardTraits(wish.gpu.compute_capability, way))


def as_asked(wish: WorkerRequest, context: int, why: str) -> tuple[Candidate, ...]:
    """One candidate: the footprint that the manifest fixes. For engines that divide it by their own rules."""
    model = wish.model
    assert model.memory != "auto" and model.requests != "auto"
    setting = WorkerSettings(context, model.requests, batched_tokens=0, host=wish.gpu.kind == "host")
    nothing = KvCost(0, 0, 0, block_tokens=1, context=context, token_bytes=0)
    return (Candidate(0, setting, "off", (Line("as asked", model.memory, why),), nothing),)


def candidates(model: Model, facts: Facts, base: WorkerSettings, card: CardTraits) -> tuple[Candidate, ...]:
    """Every candidate that costs less than the one before it; the first always stands."""
    kept: list[Candidate] = []
    for stage, graphs, setting in settings(model, facts, base):
        kv = kv_cost(facts, setting.context, setting.kv_dtype, setting.block_tokens, setting.in_flight)
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


def gave_up(worker: Worker, chosen: int) -> tuple[str, ...]:
    """What stepping down to candidate number `chosen` gave up, and what it bought."""
    if not chosen:
        return ()
    first, last = worker.candidates[0], worker.candidates[chosen]
    return (f"{first.said()} -> {last.said()}: bought {size(first.need - last.need)}",)
