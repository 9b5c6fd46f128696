"""Manifest, facts and card -> Plan, or DoesNotFit with the bill and what would fit. Pure.

Theory. The card's bytes are a budget: total, less what others use and a margin. Every worker has a price list of
candidates, best first (memory/candidates.py). Each candidate costs a fixed amount (weights, buffers, graphs, context)
and the least KV cache that serves one request. All workers start with their best candidate; while the sum is over the
budget, one of them is degraded by a step, always in the same order: so more memory never costs a candidate. What is
left over is given to KV caches by `weight`, each capped at what its `requests` of full `context` could ever use.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import floor

from kit.engines import ENGINES
from kit.errors import ManifestError, ModelFilesError, Problem
from kit.gpu import Gpu
from kit.memory.bill import Line, Plan, Share, bytes_of, reserved
from kit.memory.candidates import Candidate, Worker, degraded, steps
from kit.planner import start_checks
from kit.planner.adapter_compat import misfits, pairs
from kit.planner.workers import PlanInput, workers_of
from kit.units import GIB

# Under Windows nothing fails at the card's end: what is over goes to the host's memory. Windows itself was reported to
# use 2 to 3 GB of the card, which its driver names for no process; WSL2 1.7 of 31.8 GiB before any program.
WINDOWS_OWN, WINDOWS_MARGIN = 3 * GIB, GIB
SPILLS = (
    "Windows manages this card's memory (WSL2): beyond it, programs do not fail but spill to the host's memory without "
    "a message, many times slower; so more is kept free. In NVIDIA's control panel, 'CUDA - Sysmem Fallback Policy: "
    "Prefer No Sysmem Fallback' may help"
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

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        """The chosen candidate of each worker."""
        return tuple(worker.candidates[n] for worker, n in zip(self.workers, self.chosen, strict=True))

    def need(self, index: int | None = None) -> int:
        """What the workers need at least: all, or those of model number `index`."""
        both = zip(self.workers, self.candidates, strict=True)
        return sum(candidate.need for worker, candidate in both if index in (None, worker.index))


@dataclass(eq=False)
class NoRoom(Exception):
    """The least needs miss the budget. `plan_or_advise` turns it into DoesNotFit."""

    solution: Solution


def plan(inputs: PlanInput) -> Plan:
    """The bill. Raises ModelFilesError (an adapter of another base, or of a kind that vLLM does not serve),
    ManifestError (a value that no card could serve) and NoRoom."""
    found = [problem for pair in pairs(inputs.manifest, inputs.facts, inputs.adapters) for problem in misfits(pair)]
    if found:
        raise ModelFilesError(found)
    solution = solve(inputs)
    if not solution.fits:
        raise NoRoom(solution)
    shares = tuple(_share(inputs.gpu, solution, n, budget) for n, budget in enumerate(share_out(solution)))
    _check_starts(inputs, solution, shares)
    if inputs.manifest.start == "parallel" and (measuring := unpinned(shares)):
        # vLLM measures the card unless its KV cache is given in bytes, and counts what its neighbours take meanwhile.
        names = ", ".join(measuring)
        what = f"{names} cannot start beside others: it keeps no KV cache, so vLLM measures the card while it starts"
        raise ManifestError(Problem(what, "needed: start: sequential", path=("start",)))
    notes = ((model.name, ENGINES[model.engine].NOTE) for model in inputs.manifest.models)
    said = (
        *inputs.gpu.assumed,
        *((SPILLS,) if inputs.gpu.wddm else ()),
        *(f"{name}: {note}" for name, note in notes if note),
    )
    return Plan(inputs.manifest, inputs.gpu, reserved_for(inputs), solution.usable, shares, said)


def _check_starts(inputs: PlanInput, solution: Solution, shares: Sequence[Share]) -> None:
    """Raises ManifestError with what vLLM would refuse of these workers when they start."""
    found = [
        problem
        for worker, candidate, share in zip(solution.workers, solution.candidates, shares, strict=True)
        if worker.facts
        for problem in start_checks.problems(
            worker.index,
            share,
            candidate.setting,
            candidate.kv.blocks(candidate.least_kv),
            inputs.images.get(worker.model.name, ""),
        )
    ]
    if found:
        raise ManifestError(dict.fromkeys(found))


def unpinned(shares: Sequence[Share]) -> list[str]:
    """The workers that measure the card while they start."""
    return [s.service for s in shares if s.facts and s.utilization is not None and not s.kv_bytes]


def solve(inputs: PlanInput) -> Solution:
    """Choose the best candidates that fit together."""
    workers = workers_of(inputs)
    usable = inputs.gpu.total_bytes - sum(line.bytes for line in reserved_for(inputs))
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


def reserved_for(inputs: PlanInput) -> tuple[Line, ...]:
    """What of the card is not the workers'."""
    lines = reserved(inputs.gpu, inputs.manifest.gpu.reserve, inputs.manifest.gpu.mps)
    return tuple(_under_windows(inputs.gpu, line) for line in lines) if inputs.gpu.wddm else lines


def _under_windows(gpu: Gpu, line: Line) -> Line:
    """A larger margin; what gpu.reserve says stays as it is."""
    if line.kind != "margin":
        return line
    if gpu.free_bytes < gpu.total_bytes:
        return Line(
            "margin", max(line.bytes, WINDOWS_MARGIN), "kept free: Windows' windows grow, and nothing fails then"
        )
    return Line("margin", max(line.bytes, WINDOWS_OWN), "kept free: what Windows itself uses, 2 to 3 GB by reports")


def _price(worker: Worker, candidate: int) -> int:
    """What a worker takes at least; a footprint that the manifest fixes is taken whole."""
    memory = worker.model.memory
    return worker.candidates[candidate].need if memory == "auto" else memory


def _first_within(worker: Worker) -> int:
    """The best candidate within a footprint that the manifest fixes; the cheapest when none is."""
    memory, last = worker.model.memory, len(worker.candidates) - 1
    fitting = (n for n, candidate in enumerate(worker.candidates) if memory == "auto" or candidate.need <= memory)
    return next(fitting, last)


def share_out(solution: Solution) -> list[int]:
    """KV budgets in driver bytes, one a worker: its least, and its part of what is left over, by weight, up to what is
    useful. What one cannot use goes to the others. The order of the models does not matter."""
    workers, candidates = solution.workers, solution.candidates
    least = [candidate.kv.driver_bytes(candidate.least_kv) for candidate in candidates]
    budgets = [
        least[n] if worker.model.memory == "auto" else worker.model.memory - candidates[n].rest
        for n, worker in enumerate(workers)
    ]
    left = solution.usable - sum(_price(w, solution.chosen[n]) for n, w in enumerate(workers))
    room = {
        n: max(kv.driver_bytes(kv.bytes_for(candidates[n].setting.requests)) - least[n], 0)
        for n, kv in enumerate(candidate.kv for candidate in candidates)
        if workers[n].model.memory == "auto" and kv.tensors
    }
    order = sorted(room, key=lambda n: (room[n] / workers[n].model.weight, workers[n].service))
    weights = list(accumulate(workers[n].model.weight for n in reversed(order)))  # of those who still wait, last first
    for n in order:
        part = min(room[n], floor(left * (workers[n].model.weight / weights.pop())))
        budgets[n] += part
        left -= part
    return budgets


def _share(gpu: Gpu, solution: Solution, number: int, budget: int) -> Share:
    worker, candidate = solution.workers[number], solution.candidates[number]
    setting, kv = candidate.setting, candidate.kv
    kv_bytes = kv.largest_within(budget)
    if worker.model.memory == "auto":
        kv_bytes = min(kv_bytes, max(kv.bytes_for(setting.requests), candidate.least_kv))
    lines = (*candidate.lines, *_kv_lines(candidate, kv_bytes))
    return Share(
        model=worker.model,
        facts=worker.facts,
        service=worker.service,
        replica=worker.replica,
        lines=lines,
        kv_bytes=kv_bytes,
        kv_tokens=kv.tokens(kv_bytes),
        concurrency=kv.concurrency(kv_bytes),
        context=setting.context,
        requests=setting.requests,
        batched_tokens=setting.batched_tokens,
        graphs=candidate.graphs,
        capture_sizes=setting.sizes,
        utilization=_utilization(gpu, lines) if worker.facts else None,
        degraded=degraded(worker, solution.chosen[number]),
        lora_rank=setting.lora_rank,
        start_seconds=_start_seconds(candidate),
        kv_blocks=kv.blocks(kv_bytes),
        kv_block=kv.block_tokens,
        image_tokens=setting.image_tokens,
    )


def _kv_lines(candidate: Candidate, kv_bytes: int) -> list[Line]:
    kv = candidate.kv
    if not kv.tensors:
        return []
    blocks = f"{kv.blocks(kv_bytes):,} blocks of {kv.block_tokens}"
    waste = 0 if candidate.setting.host else kv.driver_bytes(kv_bytes) - kv_bytes
    cache = Line("kv_cache", kv_bytes, f"{kv.tokens(kv_bytes):,} tokens x {kv.token_bytes:,} B; {blocks}")
    rounding = Line("kv_rounding", waste, f"{kv.tensors} tensors, each in whole 2 MiB segments")
    return [cache, rounding] if waste else [cache]


def _utilization(gpu: Gpu, lines: Sequence[Line]) -> str | None:
    """--gpu-memory-utilization as an admission gate: vLLM refuses to start when less than this share of the card is
    free. It measures after its context is made, so the context does not count. Rounded down to 4 places."""
    if gpu.kind == "host":
        return None
    needed = sum(line.bytes for line in lines) - bytes_of(lines, "context")
    return f"{max(floor(needed / gpu.total_bytes * 10_000), 1) / 10_000:.4f}"


def _start_seconds(candidate: Candidate) -> int:
    """How long a start may take before it counts as failed: a cold page cache, compilation, and loading at 100 MB/s.
    Measured cold starts: up to 150 s for three at once on an H200 (gpu), 60 s on two old cores (cpu)."""
    return 300 + int(bytes_of(candidate.lines, "weights") / 100e6) + (300 if candidate.setting.sizes else 0)
