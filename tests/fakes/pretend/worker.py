"""The start of a worker on the card, in vLLM's order: context, snapshot, load, profile, cache, graphs.

The snapshot comes after the context, and memory is measured as a difference of the whole device's free bytes: what a
neighbour takes between snapshot and profile is charged to this worker, what it frees ends the start. A cache pinned in
bytes skips the measurement, but not the check of free memory against the utilization.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace

from . import errors
from .ledger import GIB, Card, CardFullError, Holder
from .notes import Usage, pinned_note
from .start import Cache, Start, die_by_kill, fit_cache

CHUNKS = 4
CONTEXT_AT = "v1/worker/gpu_worker.py:359:init_device"
LOAD_AT = "v1/worker/gpu/model_runner.py:286:load_model"
PROFILE_AT = "v1/worker/gpu/model_runner.py:690:profile_run"
CACHE_AT = "v1/worker/gpu/attn_utils.py:120:_allocate_kv_cache"
WARM_UP_AT = "v1/worker/gpu/warmup.py:60:warmup_kernels"
GRAPHS_AT = (
    "v1/worker/gpu_worker.py:784:compile_or_warm_up_model|v1/worker/gpu/model_runner.py:727:capture_model|"
    "v1/worker/gpu/cudagraph_utils.py:470:capture"
)


def start_on_card(start: Start, holder: Holder) -> Cache:
    """Raises StartError as vLLM fails; what was taken stays taken until the process is gone."""
    start.phase("context")
    card = _take(holder, "context", holder.look().context_bytes, CONTEXT_AT)
    requested = math.ceil(card.total_bytes * start.config.utilization)
    snapshot = holder.look().free_bytes
    if snapshot < requested:
        raise errors.free_below_desired(snapshot, card.total_bytes, start.config.utilization, requested)
    _load(start, holder)
    began = time.monotonic()
    found = _measure(start, holder, snapshot, requested)
    cache = _allocate(start, holder, found)
    graphs = _warm_up(start, holder)
    if start.args.kv_cache_memory_bytes is None:
        start.log.info("gpu_worker.py:857", replace(found, graphs=graphs).note())
    compiled = f" (compilation: {start.settings.phase_seconds:.2f} s)" if start.config.graphs else ""
    took = f"init engine (profile, create kv cache, warmup model) took {time.monotonic() - began:.2f} s"
    start.log.info("core.py:340", took + compiled)
    return cache


def _take(holder: Holder, cause: str, count: int, where: str) -> Card:
    try:
        return holder.take(cause, count)
    except CardFullError as full:
        total = holder.look().total_bytes
        raise errors.cuda_oom(full.tried, total, full.free, full.mine, where) from full


def _load(start: Start, holder: Holder) -> None:
    start.log.info("model_runner.py:270", f"Starting to load model {start.args.model}...")
    began = time.monotonic()
    weights = start.bill.weights
    for chunk in range(CHUNKS):
        start.phase("load", share=CHUNKS)
        _take(holder, "weights", weights * (chunk + 1) // CHUNKS - weights * chunk // CHUNKS, LOAD_AT)
    _strike_while_loading(start, holder)
    memory = "" if not start.config.pooling else " memory"
    took = time.monotonic() - began
    text = f"Model loading took {errors.gib(weights)} GiB{memory} and {took:.6f} seconds"
    start.log.info("gpu_model_runner.py:5348" if memory else "model_runner.py:305", text)
    _take(holder, "persist", start.bill.persist, LOAD_AT)


def _strike_while_loading(start: Start, holder: Holder) -> None:
    if start.fault.name == "slow-start":
        time.sleep(start.fault.value)
    if start.fault.name == "oom-at-start":
        card = holder.look()
        raise errors.cuda_oom(card.free_bytes + GIB, card.total_bytes, card.free_bytes, start.bill.weights, LOAD_AT)
    if start.fault.name == "exit137":
        die_by_kill()


def _measure(start: Start, holder: Holder, snapshot: int, requested: int) -> Usage:
    """The profile run, and what it leaves for the cache: the bytes given, or what the device-wide difference leaves."""
    bill, card = start.bill, holder.look()
    _take(holder, "transient", bill.transient, PROFILE_AT)
    _take(holder, "residual", card.residual_bytes, PROFILE_AT)
    start.phase("profile")
    holder.give("transient")
    if start.fault.name == "no-kernel-image":
        raise errors.no_kernel_image()
    free = holder.look().free_bytes
    pinned = start.args.kv_cache_memory_bytes
    found = Usage(
        snapshot, card.total_bytes, start.config.utilization, requested, bill.weights, bill.transient, 0, 0, 0
    )
    if pinned is not None:
        start.log.info("gpu_worker.py:479", pinned_note(snapshot, pinned))
        return replace(found, kv=pinned)
    if free > snapshot or start.fault.name == "profiling-race":
        raise errors.freed_while_profiling(snapshot, free)
    non_torch = snapshot - free - bill.weights - bill.persist
    available = requested - bill.weights - bill.transient - non_torch
    start.log.info("gpu_worker.py:560", f"Available KV cache memory: {errors.gib(available)} GiB")
    return replace(found, kv=available, non_torch=non_torch)


def _allocate(start: Start, holder: Holder, found: Usage) -> Cache:
    cache = fit_cache(start, found.kv, holder)
    start.phase("cache")
    _take(holder, "kv", cache.blocks * cache.block_bytes, CACHE_AT)
    return cache


def _warm_up(start: Start, holder: Holder) -> int:
    """The warm-up's activations stay cached; graphs are captured. Returns the graphs' device-wide difference."""
    _take(holder, "transient", start.bill.transient, WARM_UP_AT)
    if not start.config.graphs:
        return 0
    before = holder.look().free_bytes
    start.log.raw(f"Capturing CUDA graphs (PIECEWISE):   0%|          | 0/{len(start.config.graphs)} [00:00<?, ?it/s]")
    start.phase("graphs")
    if start.fault.name == "crash-during-graphs":
        card = holder.look()
        raise errors.cuda_oom(start.bill.graphs, card.total_bytes, card.free_bytes, start.bill.weights, GRAPHS_AT)
    _take(holder, "graphs", start.bill.graphs, GRAPHS_AT)
    took = before - holder.look().free_bytes
    text = f"Graph capturing finished in {start.settings.phase_seconds:.0f} secs, took {took / GIB:.2f} GiB"
    start.log.info("model_runner.py:747", text)
    return took
