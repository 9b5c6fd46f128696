"""Other ways to serve the same models: as adapters of one base, or swapped in on request. Pure.

Theory. Models of one architecture and equal sizes may be fine-tunes of one base; each is then the base and a small
difference, and a LoRA adapter is such a difference. What that would save is not estimated: the manifest is
rewritten with adapters and solved like any other.

A model that is kept takes its part of the card all the time; a model that is swapped takes the whole card's time
whenever it comes back, while its weights are read. So there is a number of returns an hour below which swapping costs
the card less. How long a return takes cannot be known before: the rate is what an article measured with Ollama.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kit.facts.facts import Facts
from kit.manifest.model import Adapter, Model
from kit.memory.bill import Plan, bytes_of
from kit.memory.candidates import Candidate
from kit.memory.lora import DEFAULT_RANK
from kit.planner.plan import solve
from kit.planner.workers import PlanInput
from kit.units import gib, size

SWAP_BYTES_PER_SECOND = 0.55e9  # models of 5 to 6 GB came back in 5 to 15 s: the middles of both


@dataclass(frozen=True)
class Family:
    """Models that may share a base: `base` stays whole, `others` could be its adapters. `saving` bytes, without KV
    caches; `folded` is the plan's input
    so written."""

    base: Model
    others: tuple[Model, ...]
    facts: Facts
    folded: PlanInput
    saving: int


@dataclass(frozen=True)
class Swap:
    """One model with its replicas: the `bytes` that it needs at least while it is kept, and which `part` of what is
    usable that is; `seconds` for its weights to come back; below `returns` an hour swapping costs the card less."""

    name: str
    bytes: int
    part: float
    seconds: float
    returns: float


def families(inputs: PlanInput) -> tuple[Family, ...]:
    """Every group of vLLM models of equal shapes, and what folding it saves."""
    found = [_family(inputs, group) for group in _groups(inputs)]
    return tuple(family for family in found if family.saving > 0)


def fold_all(inputs: PlanInput) -> PlanInput:
    """The manifest with every family folded."""
    for family in families(inputs):
        inputs = fold(inputs, family.base, family.others)
    return inputs


def fold(inputs: PlanInput, base: Model, others: Sequence[Model]) -> PlanInput:
    """The manifest with `others` as adapters of `base`, and their adapters too."""
    names = {other.name for other in others}
    more = tuple(a for other in others for a in (Adapter(name=other.name, source=other.source), *other.adapters))
    return inputs.with_models(
        model.model_copy(update={"adapters": (*model.adapters, *more)}) if model.name == base.name else model
        for model in inputs.manifest.models
        if model.name not in names
    )


def swaps(inputs: PlanInput) -> tuple[Swap, ...]:
    """Every model of vLLM's, in the manifest's order; other engines swap by themselves."""
    solution = solve(inputs)
    both = list(zip(solution.workers, solution.candidates, strict=True))
    return tuple(
        _swap(model.name, [candidate for worker, candidate in both if worker.index == index], solution.usable)
        for index, model in enumerate(inputs.manifest.models)
        if model.engine == "vllm"
    )


def remarks(inputs: PlanInput, made: Plan) -> tuple[str, ...]:
    """What `plan` says of both."""
    return (*(said(family) for family in families(inputs)), *_of_swaps(inputs, made))


def said(family: Family) -> str:
    """A family in words."""
    others = " and ".join(f"'{other.name}'" for other in family.others)
    verb = "has" if len(family.others) == 1 else "have"
    return (
        f"{others} {verb} the architecture and the sizes of '{family.base.name}' ({family.facts.architecture}, "
        f"{family.facts.parameters:,} parameters): if they are fine-tunes of one base, serving them as LoRA adapters "
        f"of rank {DEFAULT_RANK} saves {size(family.saving)}"
    )


def _groups(inputs: PlanInput) -> list[list[Model]]:
    """Models that one worker could serve: equal shapes, image and arguments; one that has adapters comes first."""
    groups: dict[object, list[Model]] = {}
    for model in inputs.manifest.models:
        facts = inputs.facts.get(model.source)
        if facts and model.engine == "vllm" and model.task == "generate":
            groups.setdefault((_shape(facts), model.image, model.args), []).append(model)
    alike = [sorted(group, key=lambda model: not model.adapters) for group in groups.values()]
    return [group for group in alike if len(group) > 1 and len({model.source for model in group}) == len(group)]


def _shape(facts: Facts) -> tuple[object, ...]:
    return (
        facts.architecture, facts.hidden, facts.intermediate, facts.layers, facts.heads, facts.kv_heads, facts.head_dim,
        facts.vocab, facts.dtype, facts.quantization, facts.experts,
    )  # fmt: skip


def _family(inputs: PlanInput, group: Sequence[Model]) -> Family:
    base, *others = group
    folded = fold(inputs, base, others)
    before, after = (sum(candidate.rest for candidate in solve(one).candidates) for one in (inputs, folded))
    return Family(base, tuple(others), inputs.facts[base.source], folded, before - after)


def _swap(name: str, candidates: Sequence[Candidate], usable: int) -> Swap:
    total = sum(candidate.need for candidate in candidates)
    weights = sum(bytes_of(candidate.lines, "weights") for candidate in candidates)
    seconds = max(weights / SWAP_BYTES_PER_SECOND, 1.0)
    return Swap(name, total, total / usable, seconds, total / usable * 3600 / seconds)


def _of_swaps(inputs: PlanInput, made: Plan) -> tuple[str, ...]:
    """Only where something was degraded, and nothing would be without one model: the smallest such."""
    if len(made.manifest.models) < 2 or not any(share.degraded for share in made.shares):
        return ()
    enough = [swap for swap in swaps(inputs) if _restores(inputs, swap.name)]
    least = min(enough, key=lambda swap: (swap.bytes, swap.name), default=None)
    if least is None:
        return ()
    return (
        f"without '{least.name}' ({gib(least.bytes)}) nothing would be degraded; swapped in on request "
        f"(engine: ollama) it takes about {least.seconds:.0f} s each time, and costs the card less than kept if it "
        f"comes back fewer than {least.returns:,.0f} times an hour",
    )


def _restores(inputs: PlanInput, name: str) -> bool:
    alone = solve(inputs.with_models(model for model in inputs.manifest.models if model.name != name))
    return alone.fits and not any(alone.chosen)
