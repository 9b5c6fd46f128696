"""What would fit, when the manifest does not: edits that the planner itself tried before they are given. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from kit.engines import ENGINES
from kit.errors import DoesNotFit, KeyPath, Problem, dotted
from kit.manifest.model import Manifest
from kit.memory.bill import Line, Plan
from kit.planner.alternatives import Family, families
from kit.planner.notes import remarks
from kit.planner.plan import NoRoom, Solution, plan, reserved_for, solve
from kit.planner.workers import PlanInput
from kit.units import MIB, gib, size, up

CONTEXT_STEP = 256
SHORTEST = 512
MOST = 4


@dataclass(frozen=True)
class Advice:
    """Edits of the manifest, (path, value) each, after which it fits; `text` says them to a person."""

    edits: tuple[tuple[KeyPath, Any], ...]
    text: str


def plan_or_advise(asked: PlanInput) -> Plan:
    """The plan, with what is to be said of it. Raises DoesNotFit with the bill and what would fit."""
    try:
        made = plan(asked)
    except NoRoom as no_room:
        raise does_not_fit(asked, no_room.solution) from None
    return replace(made, notes=(*made.notes, *remarks(asked, made)))


def does_not_fit(asked: PlanInput, solution: Solution) -> DoesNotFit:
    problems = [_tight(solution, number) for number in solution.tight]
    if solution.missing:
        problems.append(_missing(asked, solution))
    return DoesNotFit(problems, evidence=bill(asked, solution))


def _tight(solution: Solution, number: int) -> Problem:
    worker, need = solution.workers[number], solution.candidate(number).need
    return Problem(
        f"'{worker.service}' needs at least {gib(need)}, its memory says {gib(int(worker.model.memory))}",
        f"needed: memory: {up(need, MIB) // MIB}MiB or more, or auto",
        path=("models", worker.index, "memory"),
    )


def _missing(asked: PlanInput, solution: Solution) -> Problem:
    number = max(range(len(solution.workers)), key=lambda n: (solution.candidate(n).need, solution.workers[n].service))
    worker = solution.workers[number]
    word = "context" if worker.model.context != "auto" and solution.candidate(number).kv.tensors else "source"
    together = "" if len(solution.workers) == 1 else f", all {len(solution.workers)} workers together"
    return Problem(
        f"'{worker.service}' needs {size(solution.missing)} more than the card has{together}",
        f"the least that serves one request at a time is {gib(solution.usable + solution.missing)}, "
        f"usable are {gib(solution.usable)} of {asked.gpu.name}",
        path=("models", worker.index, word),
    )


def bill(asked: PlanInput, solution: Solution) -> str:
    """The least bill, worker by worker, and the advice."""
    rows = [f"{line.what:<24} {gib(line.bytes):>12}  {line.why}" for line in _card_lines(asked)]
    for number, worker in enumerate(solution.workers):
        candidate = solution.candidate(number)
        kv = candidate.kv.driver_bytes(candidate.kv.minimum_bytes)
        rows.append(f"{worker.service:<24} {gib(candidate.need):>12}  {candidate.said()}")
        lines = [
            *candidate.lines,
            Line("kv cache, one request", kv, f"{candidate.setting.context:,} tokens x {candidate.kv.token_bytes:,} B"),
        ]
        rows += [f"  {line.what:<22} {gib(line.bytes):>12}  {line.why}" for line in lines if line.bytes]
    advised = advice(asked, solution)
    ways = (
        "\n".join(f"  - {one.text}" for one in advised) or "  - nothing smaller of this manifest: take smaller models"
    )
    return "\n".join(rows) + "\nwhat would fit (each alone):\n" + ways


def _card_lines(asked: PlanInput) -> list[Line]:
    gpu = asked.gpu
    taken = [replace(line, bytes=-line.bytes) for line in reserved_for(asked)]
    return [Line(gpu.name, gpu.total_bytes, gpu.origin), *taken]


def advice(asked: PlanInput, solution: Solution) -> tuple[Advice, ...]:
    """At most a handful of edits, the mildest first, every one of which fits."""
    found: list[Advice] = []
    for candidate in _candidates(asked, solution):
        if candidate and candidate.edits not in [one.edits for one in found]:
            found.append(candidate)
    return tuple(found[:MOST]) + _last(asked, solution)


def _candidates(asked: PlanInput, solution: Solution) -> Iterator[Advice | None]:
    order = sorted(
        {w.index for w in solution.workers}, key=lambda i: (-_need_of(solution, i), asked.manifest.models[i].name)
    )
    yield _loosened(asked, solution)
    for index in order:
        yield _shorter(asked, index, ())
        yield _fewer(asked, index)
    free = _free_graphs(asked.manifest)
    if free:
        yield _when_fits(asked, free)
        for index in order:
            yield _shorter(asked, index, free)


def _need_of(solution: Solution, index: int) -> int:
    return sum(solution.candidate(n).need for n, w in enumerate(solution.workers) if w.index == index)


def _loosened(asked: PlanInput, solution: Solution) -> Advice | None:
    """Fixed footprints that are too small, or larger than they must be, left to the plan."""
    fixed = [i for i, m in enumerate(asked.manifest.models) if m.memory != "auto" and ENGINES[m.engine].PRICED]
    return _when_fits(asked, tuple((("models", i, "memory"), "auto") for i in fixed)) if fixed else None


def _free_graphs(manifest: Manifest) -> tuple[tuple[KeyPath, Any], ...]:
    return tuple(
        (("models", i, "graphs"), "auto") for i, m in enumerate(manifest.models) if m.graphs in ("full", "small")
    )


def _shorter(asked: PlanInput, index: int, also: tuple[tuple[KeyPath, Any], ...]) -> Advice | None:
    """The longest context of one model that fits, in steps of 256 tokens."""
    context = asked.manifest.models[index].context
    if context == "auto" or context <= SHORTEST:
        return None
    path: KeyPath = ("models", index, "context")
    tried = _largest(
        SHORTEST // CONTEXT_STEP,
        (context - 1) // CONTEXT_STEP,
        lambda n: _fits(asked, (*also, (path, n * CONTEXT_STEP))),
    )
    return _said((*also, (path, tried * CONTEXT_STEP)), asked) if tried else None


def _fewer(asked: PlanInput, index: int) -> Advice | None:
    requests = asked.manifest.models[index].requests
    if requests == "auto" or requests <= 1:
        return None
    path: KeyPath = ("models", index, "requests")
    tried = _largest(1, requests - 1, lambda n: _fits(asked, ((path, n),)))
    return _said(((path, tried),), asked) if tried else None


def _when_fits(asked: PlanInput, edits: tuple[tuple[KeyPath, Any], ...]) -> Advice | None:
    return _said(edits, asked) if _fits(asked, edits) else None


def _largest(low: int, high: int, fits: Callable[[int], bool]) -> int | None:
    """The largest n in low..high that fits; fitting must be monotone. None when not even `low` does."""
    if high < low or not fits(low):
        return None
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def _fits(asked: PlanInput, edits: tuple[tuple[KeyPath, Any], ...]) -> bool:
    return solve(replace(asked, manifest=edit(asked.manifest, edits))).fits


def _said(edits: tuple[tuple[KeyPath, Any], ...], asked: PlanInput) -> Advice:
    words = [f"{dotted(path)}: {value} ('{asked.manifest.models[int(path[1])].name}')" for path, value in edits]
    return Advice(edits, " and ".join(words))


def edit(manifest: Manifest, edits: tuple[tuple[KeyPath, Any], ...]) -> Manifest:
    """The manifest with some words of some models changed. Paths are ("models", index, word)."""
    changed: dict[int, dict[str, Any]] = {}
    for (_, index, word), value in edits:
        changed.setdefault(int(index), {})[str(word)] = value
    models = tuple(m.model_copy(update=changed.get(i, {})) for i, m in enumerate(manifest.models))
    return manifest.model_copy(update={"models": models})


def _folded(family: Family) -> Advice:
    names = " and ".join(f"'{other.name}'" for other in family.others)
    return Advice((), f"{names} as LoRA adapters of '{family.base.name}', if they are fine-tunes of one base")


def _last(asked: PlanInput, solution: Solution) -> tuple[Advice, ...]:
    """Models of equal shapes as adapters of one, leaving a model out, and the card that would hold all."""
    found = [_folded(family) for family in families(asked) if solve(replace(asked, manifest=family.folded)).fits]
    models = asked.manifest.models
    if len(models) > 1:
        for index in sorted(range(len(models)), key=lambda i: (_need_of(solution, i), models[i].name)):
            rest = asked.manifest.model_copy(update={"models": models[:index] + models[index + 1 :]})
            if solve(replace(asked, manifest=rest)).fits:
                found.append(Advice((), f"without '{models[index].name}'"))
                break
    if solution.missing:
        card = up(asked.gpu.total_bytes + solution.missing, MIB)
        held = asked.gpu.total_bytes - asked.gpu.free_bytes
        found.append(
            Advice((), f"{size(solution.missing)} more of the card" if held else f"a card of {gib(card)} or more")
        )
    return tuple(found)
