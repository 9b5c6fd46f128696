"""The start of a worker on the CPU."""

from __future__ import annotations

import math
import time
from pathlib import Path

from . import errors
from .ledger import GIB
from .start import Cache, Start, die_by_kill, fit_cache


def host_memory(meminfo: Path = Path("/proc/meminfo")) -> tuple[int, int]:
    """(total, available) bytes of this machine."""
    lines = (line.split() for line in meminfo.read_text(encoding="ascii").splitlines())
    values = {words[0]: int(words[1]) * 1024 for words in lines}
    return values["MemTotal:"], values["MemAvailable:"]


def start_on_host(start: Start, total: int, available: int) -> Cache:
    """vLLM's CPU backend: no graphs, no race; without bytes for the cache it wants its share of all memory free."""
    pinned = start.args.kv_cache_memory_bytes
    if start.settings.cpu_kv_gib is not None:
        pinned = start.settings.cpu_kv_gib * GIB
    requested = math.ceil(total * start.config.utilization)
    if pinned is None and available < requested:
        raise errors.host_below_desired(available, total, start.config.utilization, requested)
    start.phase("load")
    _strike_on_host(start)
    start.phase("profile")
    cache = fit_cache(start, pinned if pinned is not None else requested - start.bill.weights, None)
    start.phase("cache")
    took = f"init engine (profile, create kv cache, warmup model) took {start.settings.phase_seconds * 2:.2f} s"
    start.log.info("core.py:348", took)
    return cache


def _strike_on_host(start: Start) -> None:
    if start.fault.name == "slow-start":
        time.sleep(start.fault.value)
    if start.fault.name in ("exit137", "oom-at-start"):
        die_by_kill()
