"""What would fit, when the manifest does not: edits that the planner itself tried; and remarks on a plan. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from kit.engines import ENGINES, pooling, vllm_parsers
from kit.errors import DoesNotFit, KeyPath, Problem, dotted
from kit.memory.bill import Plan
from kit.memory.candidates import Worker
from kit.memory.vllm_versions import planned_version
from kit.planner import adapter_compat, alternatives
from kit.planner.plan import NoRoom, Solution, plan, reserved_for, solve
from kit.planner.refusals import assumed_versions
from kit.planner.workers import PlanInput
from kit.routers import haproxy
from kit.units import MIB, gib, size, up

CONTEXT_STEP = 256
SHORTEST = 512
MOST = 4
Edits = tuple[tuple[KeyPath, Any], ...]


@dataclass(frozen=True)
class Advice:
    """Edits of the manifest, (path, value) each, after which it fits; `text` says them to a person."""

    edits: Edits
    text: str


def plan_or_advise(inputs: PlanInput) -> Plan:
    """The plan with its remarks. Raises DoesNotFit with the bill and what would fit."""
    try:
        made = plan(inputs)
    except NoRoom as no_room:
        raise _does_not_fit(inputs, no_room.solution) from None
    return replace(made, notes=(*made.notes, *remarks(inputs, made)))


def remarks(inputs: PlanInput, made: Plan) -> tuple[str, ...]:
    """What is served another way than a reader may think, in the manifest's order, and what would be cheaper."""
    manifest = inputs.manifest
    found = (
        haproxy.note(manifest) if haproxy.needed(manifest) else "",
        _of_policy(made),
        _of_tools(made, inputs.images),
        *assumed_versions(manifest.models, inputs.images),
        *(pooling.remark(m, inputs.facts[m.source]) for m in manifest.models if m.source in inputs.facts),
        *map(adapter_compat.remark, adapter_compat.pairs(manifest, inputs.facts, inputs.adapters)),
        *alternatives.remarks(inputs, made),
    )
    return tuple(text for text in found if text)


def _of_tools(made: Plan, images: Mapping[str, str]) -> str:
    """Which models' tool calls are read."""
    first = {share.model.name: share for share in reversed(made.shares)}
    shares = [first[model.name] for model in made.manifest.models]
    versions = {name: planned_version(image) for name, image in images.items()}
    return vllm_parsers.remark(
        (one.model, vllm_parsers.parsers_of(one.model, one.facts, versions.get(one.model.name))) for one in shares
    )


def _of_policy(made: Plan) -> str:
    several = [model.name for model in made.manifest.models if model.replicas > 1]
    if not several or made.manifest.router.policy != "cache_aware":
        return ""
    return (
        f"cache_aware sends equal beginnings to one replica of {' and '.join(several)}: measured with more prefixes "
        "than the caches hold it served 38.5 requests a second, round_robin 46.3; with few they were even"
    )


def _does_not_fit(inputs: PlanInput, solution: Solution) -> DoesNotFit:
    problems = [_tight(solution, number) for number in solution.tight]
    if solution.missing:
        problems.append(_missing(inputs, solution))
    return DoesNotFit(problems, evidence=_bill(inputs, solution))


def _tight(solution: Solution, number: int) -> Problem:
    worker, need = solution.workers[number], solution.candidates[number].need
    return Problem(
        f"'{worker.service}' needs at least {gib(need)}, its memory says {gib(int(worker.model.memory))}",
        f"needed: memory: {up(need, MIB) // MIB}MiB or more, or auto",
        path=("models", worker.index, "memory"),
    )


def _missing(inputs: PlanInput, solution: Solution) -> Problem:
    fixed = [worker for worker in solution.workers if worker.model.memory != "auto"]
    if len(fixed) == len(solution.workers):
        return _fixed_too_large(inputs, solution)
    both = zip(solution.workers, solution.candidates, strict=True)
    worker, candidate = max(both, key=lambda pair: (pair[1].need, pair[0].service))
    key = "context" if worker.model.context != "auto" and candidate.kv.tensors else "source"
    together = "" if len(solution.workers) == 1 else f", all {len(solution.workers)} workers together"
    said = f" ({gib(_fixed(fixed))} of it by `memory` of {_names(fixed)})" if fixed else ""
    return Problem(
        f"'{worker.service}' needs {size(solution.missing)} more than the card has{together}",
        f"the least that serves one request at a time is {gib(solution.usable + solution.missing)}{said}, "
        f"usable are {gib(solution.usable)} of {inputs.gpu.name}",
        path=("models", worker.index, key),
    )


def _fixed_too_large(inputs: PlanInput, solution: Solution) -> Problem:
    """The manifest fixes every footprint: that they do not fit says nothing of what the models need."""
    largest = max(solution.workers, key=lambda worker: (int(worker.model.memory), worker.service))
    several = len(solution.workers) > 1
    return Problem(
        f"`memory` of {_names(solution.workers)} is {size(solution.missing)} more than the card has"
        + (", added up" if several else ""),
        f"{'they add' if several else 'it comes'} to {gib(_fixed(solution.workers))}, "
        f"usable are {gib(solution.usable)} of {inputs.gpu.name}",
        path=("models", largest.index, "memory"),
    )


def _fixed(workers: Iterable[Worker]) -> int:
    return sum(int(worker.model.memory) for worker in workers)


def _names(workers: Iterable[Worker]) -> str:
    return " and ".join(f"'{worker.service}'" for worker in workers)


def _bill(inputs: PlanInput, solution: Solution) -> str:
    """The least bill, worker by worker, and the advice."""
    gpu = inputs.gpu
    rows = [(gpu.name, gpu.total_bytes, gpu.origin)]
    rows += [(line.label, -line.bytes, line.why) for line in reserved_for(inputs)]
    for worker, candidate in zip(solution.workers, solution.candidates, strict=True):
        kv, setting = candidate.kv, candidate.setting
        if worker.model.memory == "auto":
            rows.append((worker.service, candidate.need, f"{setting.measured}"))
        else:
            rows.append((worker.service, worker.model.memory, f"memory: in the manifest; {setting.measured}"))
        rows += [(f"  {line.label}", line.bytes, line.why) for line in candidate.lines if line.bytes]
        if least := kv.driver_bytes(candidate.least_kv):
            rows.append(("  kv cache, one request", least, f"{setting.context:,} tokens x {kv.token_bytes:,} B"))
    nothing = "nothing smaller of this manifest: take smaller models"
    ways = [f"  - {text}" for text in [one.text for one in advice(inputs, solution)] or [nothing]]
    table = (f"{label:<24} {gib(count):>12}  {why}" for label, count, why in rows)
    return "\n".join([*table, "what would fit (each alone):", *ways])


def advice(inputs: PlanInput, solution: Solution) -> tuple[Advice, ...]:
    """At most a handful of edits, the mildest first, every one of which fits."""
    found: list[Advice] = []
    for candidate in _candidates(inputs, solution):
        if candidate and candidate.edits not in [one.edits for one in found]:
            found.append(candidate)
    return (*found[:MOST], *_last(inputs, solution))


def _candidates(inputs: PlanInput, solution: Solution) -> Iterator[Advice | None]:
    models = inputs.manifest.models
    order = sorted({w.index for w in solution.workers}, key=lambda index: (-solution.need(index), models[index].name))
    # Fixed footprints that are too small, or larger than they must be, are left to the plan.
    fixed = [i for i, m in enumerate(models) if m.memory != "auto" and ENGINES[m.engine].PRICED]
    yield _when_fits(inputs, tuple((("models", i, "memory"), "auto") for i in fixed))
    for index in order:
        yield _shorter(inputs, index, ())
        yield _fewer(inputs, index)
    graphs: Edits = tuple(
        (("models", i, "graphs"), "auto") for i, m in enumerate(models) if m.graphs in ("full", "small")
    )
    yield _when_fits(inputs, graphs)
    for index in order if graphs else ():
        yield _shorter(inputs, index, graphs)


def _shorter(inputs: PlanInput, index: int, also: Edits) -> Advice | None:
    """The longest context of one model that fits, in steps of 256 tokens."""
    context = inputs.manifest.models[index].context
    if context == "auto":
        return None

    def edits(steps: int) -> Edits:
        return (*also, (("models", index, "context"), steps * CONTEXT_STEP))

    return _largest(inputs, edits, SHORTEST // CONTEXT_STEP, (context - 1) // CONTEXT_STEP)


def _fewer(inputs: PlanInput, index: int) -> Advice | None:
    requests = inputs.manifest.models[index].requests
    return (
        None
        if requests == "auto"
        else _largest(inputs, lambda n: ((("models", index, "requests"), n),), 1, requests - 1)
    )


def _largest(inputs: PlanInput, edits: Callable[[int], Edits], low: int, high: int) -> Advice | None:
    """The edits of the largest n in low..high that fit; fitting must be monotone. None when not even `low` does."""
    best = _when_fits(inputs, edits(low)) if low <= high else None
    while best and low < high:
        middle = (low + high + 1) // 2
        tried = _when_fits(inputs, edits(middle))
        best, low, high = (tried, middle, high) if tried else (best, low, middle - 1)
    return best


def _when_fits(inputs: PlanInput, edits: Edits) -> Advice | None:
    """The edits as advice, None when there are none or when the manifest does not fit with them."""
    if not edits or not solve(edited(inputs, edits)).fits:
        return None
    models = inputs.manifest.models
    return Advice(edits, " and ".join(f"{dotted(path)}: {v} ('{models[int(path[1])].name}')" for path, v in edits))


def edited(inputs: PlanInput, edits: Edits) -> PlanInput:
    """The manifest with some keys of some models changed. Paths are ("models", index, key)."""
    changed: dict[int, dict[str, Any]] = {}
    for (_, index, key), value in edits:
        changed.setdefault(int(index), {})[str(key)] = value
    return inputs.with_models(m.model_copy(update=changed.get(i, {})) for i, m in enumerate(inputs.manifest.models))


def _last(inputs: PlanInput, solution: Solution) -> Iterator[Advice]:
    """Models of equal shapes as adapters of one, leaving a model out, and the card that would hold all."""
    for family in alternatives.families(inputs):
        if solve(family.folded).fits:
            names = " and ".join(f"'{other.name}'" for other in family.others)
            yield Advice((), f"{names} as LoRA adapters of '{family.base.name}', if they are fine-tunes of one base")
    models = inputs.manifest.models
    for index in sorted(range(len(models)), key=lambda i: (solution.need(i), models[i].name)):
        if len(models) > 1 and solve(inputs.with_models(models[:index] + models[index + 1 :])).fits:
            yield Advice((), f"without '{models[index].name}'")
            break
    if solution.missing:
        card = up(inputs.gpu.total_bytes + solution.missing, MIB)
        used = inputs.gpu.total_bytes - inputs.gpu.free_bytes
        yield Advice((), f"{size(solution.missing)} more of the card" if used else f"a card of {gib(card)} or more")
