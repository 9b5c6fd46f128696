"""Manifest, facts and card -> Plan, or DoesNotFit with the bill and what would fit. Pure.

Theory. The card's bytes are a budget: total, less what others hold and a margin. Every worker has a price list of
candidates, best first (memory/candidates.py). Each candidate costs a fixed amount (weights, buffers, graphs, context)
and the least KV cache that serves one request. All workers start on their best candidate; while the sum is over budget,
one step down is taken, always in the same order whatever the budget: so more memory never costs a candidate. What is
left over is given to KV caches by `weight`, each capped at what its `requests` of full `context` could ever use.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import floor

from kit.engines import ENGINES
from kit.errors import ManifestError, ModelFilesError, Problem
from kit.gpu import Gpu
from kit.memory.bill import Line, Plan, Share
from kit.memory.candidates import (
    Candidate,
    Worker,
    gave_up,
    steps,
)
from kit.memory.reserved import reserved
from kit.planner.adapter_compat import misfits, pairs
from kit.planner.workers import (
    PlanInput,
    workers_of,
)


@dataclass(frozen=True)
class Solution:
    """The candidate that each worker has; `missing` bytes lack for the least needs; `tight` are the workers whose
    fixed `memory` does not hold their least."""

    workers: tuple[Worker, ...]
    chosen: tuple[int, ...]
    usable: int
    missing: int
    tight: tuple[int, ...] = ()

    @property
    def fits(self) -> bool:
        return not self.missing and not self.tight

    def candidate(self, number: int) -> Candidate:
        return self.workers[number].candidates[self.chosen[number]]


class NoRoom(Exception):
    """The least needs miss the budget. `plan_or_advise` turns it into DoesNotFit."""

    def __init__(self, solution: Solution) -> None:
        self.solution = solution
        super().__init__()


def plan(asked: PlanInput) -> Plan:
    """The bill. Raises ModelFilesError (an adapter of another base, or of a kind that vLLM does not serve),
    ManifestError (a value that no card could serve) and NoRoom."""
    strange = [problem for pair in pairs(asked.manifest, asked.facts, asked.adapters) for problem in misfits(pair)]
    if strange:
        raise ModelFilesError(strange)
    solution = solve(asked)
    if not solution.fits:
        raise NoRoom(solution)
    budgets = share_out(solution)
    shares = tuple(_share(asked, solution, n, budgets[n]) for n in range(len(solution.workers)))
    if asked.manifest.start == "parallel":
        _refuse_unpinned(shares)
    lines = reserved_for(asked)
    return Plan(asked.manifest, asked.gpu, lines, solution.usable, shares, _notes(asked))


def unpinned(shares: Sequence[Share]) -> list[str]:
    """The workers that measure the card while they start."""
    return [s.service for s in shares if s.facts and s.utilization is not None and not s.kv_bytes]


def _refuse_unpinned(shares: Sequence[Share]) -> None:
    """Workers may start together only when none of them measures the card: vLLM measures unless its KV cache is given
    in bytes, and then counts what its neighbours take meanwhile as its own."""
    if found := unpinned(shares):
        names = ", ".join(found)
        what = f"{names} cannot start beside others: it keeps no KV cache, so vLLM measures the card while it starts"
        raise ManifestError(Problem(what, "needed: start: sequential", path=("start",)))


def solve(asked: PlanInput) -> Solution:
    """Stand every worker on the best candidates that fit together."""
    workers = workers_of(asked)
    usable = asked.gpu.total_bytes - sum(line.bytes for line in reserved_for(asked))
    chosen = [_first_within(worker) for worker in workers]
    total = sum(_price(worker, chosen[n]) for n, worker in enumerate(workers))
    for step in steps(workers):
        if total <= usable:
            break
        worker = workers[step.worker]
        if worker.model.memory != "auto" or step.candidate <= chosen[step.worker]:
            continue
        total += _price(worker, step.candidate) - _price(worker, chosen[step.worker])
        chosen[step.worker] = step.candidate
    tight = tuple(
        n for n, worker in enumerate(workers) if worker.candidates[chosen[n]].need > _price(worker, chosen[n])
    )
    return Solution(workers, tuple(chosen), usable, max(total - usable, 0), tight)


def reserved_for(asked: PlanInput) -> tuple[Line, ...]:
    """What of the card is not the workers'."""
    wish = asked.manifest.gpu
    return reserved(asked.gpu, wish.reserve, wish.mps)


def _price(worker: Worker, candidate: int) -> int:
    """What a worker takes at least; a footprint that the manifest fixes is taken whole."""
    memory = worker.model.memory
    return worker.candidates[candidate].need if memory == "auto" else memory


def _first_within(worker: Worker) -> int:
    """The best candidate within a footprint that the manifest fixes; the cheapest when none is."""
    memory = worker.model.memory
    if memory == "auto":
        return 0
    fitting = [n for n, candidate in enumerate(worker.candidates) if candidate.need <= memory]
    return fitting[0] if fitting else len(worker.candidates) - 1


def share_out(solution: Solution) -> list[int]:
    """KV budgets in driver bytes, one a worker: its least, and its part of what is left over, by weight, up to what is
    useful. What one cannot use goes to the others. The order of the models does not matter."""
    workers = solution.workers
    least = [solution.candidate(n).kv.driver_bytes(solution.candidate(n).kv.minimum_bytes) for n in range(len(workers))]
    budgets = list(least)
    for n, worker in enumerate(workers):
        if worker.model.memory != "auto":
            budgets[n] = worker.model.memory - solution.candidate(n).rest
    left = solution.usable - sum(_price(w, solution.chosen[n]) for n, w in enumerate(workers))
    room = {
        n: _useful(solution.candidate(n)) - least[n]
        for n, worker in enumerate(workers)
        if worker.model.memory == "auto" and solution.candidate(n).kv.tensors
    }
    order = sorted(room, key=lambda n: (room[n] / workers[n].model.weight, workers[n].service))
    weights = list(accumulate(workers[n].model.weight for n in reversed(order)))  # of those who still wait, last first
    for n in order:
        part = min(room[n], floor(left * (workers[n].model.weight / weights.pop())))
        budgets[n] += part
        left -= part
    return budgets


def _useful(candidate: Candidate) -> int:
    return candidate.kv.driver_bytes(candidate.kv.useful_bytes(candidate.setting.requests))


def _share(asked: PlanInput, solution: Solution, number: int, budget: int) -> Share:
    worker, candidate = solution.workers[number], solution.candidate(number)
    cap = candidate.kv.useful_bytes(candidate.setting.requests)
    kv_bytes = candidate.kv.largest_within(budget)
    if worker.model.memory == "auto":
        kv_bytes = min(kv_bytes, cap)
    lines = (*candidate.lines, *_kv_lines(candidate, kv_bytes))
    total = sum(line.bytes for line in lines)
    return Share(
        model=worker.model,
        facts=worker.facts,
        service=worker.service,
        replica=worker.replica,
        lines=lines,
        kv_bytes=kv_bytes,
        kv_tokens=candidate.kv.tokens(kv_bytes),
        concurrency=candidate.kv.concurrency(kv_bytes),
        context=candidate.setting.context,
        requests=candidate.setting.requests,
        batched_tokens=candidate.setting.batched_tokens,
        graphs=candidate.graphs,
        capture_sizes=candidate.setting.sizes,
        utilization=_gate(asked.gpu, lines, total) if worker.facts else None,
        gave_up=gave_up(worker, solution.chosen[number]),
        lora_rank=candidate.setting.lora_rank,
        start_seconds=_start_seconds(candidate),
    )


def _kv_lines(candidate: Candidate, kv_bytes: int) -> tuple[Line, ...]:
    kv = candidate.kv
    if not kv.tensors:
        return ()
    blocks = f"{kv_bytes // kv.block_bytes:,} blocks of {kv.block_tokens}"
    said = f"{kv.tokens(kv_bytes):,} tokens x {kv.token_bytes:,} B; {blocks}"
    waste = kv.driver_bytes(kv_bytes) - kv_bytes if not candidate.setting.host else 0
    lines = [Line("kv cache", kv_bytes, said)]
    if waste:
        lines.append(Line("kv rounding", waste, f"{kv.tensors} tensors, each in whole 2 MiB segments"))
    return tuple(lines)


def _gate(gpu: Gpu, lines: Sequence[Line], total: int) -> str | None:
    """--gpu-memory-utilization as an admission gate: vLLM refuses to start when less than this share of the card is
    free. It looks after its context is made, so the context is not asked for again. Rounded down to 4 places."""
    if gpu.kind == "host":
        return None
    asked = total - sum(line.bytes for line in lines if line.what == "context")
    return f"{max(floor(asked / gpu.total_bytes * 10_000), 1) / 10_000:.4f}"


def _start_seconds(candidate: Candidate) -> int:
    """How long a start may take before it counts as failed: a cold page cache, compilation, and loading at 100 MB/s.
    Measured cold starts: up to 150 s for three at once on an H200 (gpu), 60 s on two old cores (cpu)."""
    weights = sum(line.bytes for line in candidate.lines if line.what == "weights")
    return 300 + int(weights / 100e6) + (300 if candidate.setting.sizes else 0)


def _notes(asked: PlanInput) -> tuple[str, ...]:
    said = ((model.name, ENGINES[model.engine].NOTE) for model in asked.manifest.models)
    return (*asked.gpu.assumed, *(f"{name}: {note}" for name, note in said if note))
