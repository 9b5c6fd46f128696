"""What a start is given, and the KV cache it ends with."""

from __future__ import annotations

import math
import os
import signal
import time
from dataclasses import dataclass

from . import errors
from .argv import Args
from .config import Config
from .faults import Fault
from .footprint import Footprint
from .ledger import Holder
from .log import Log
from .settings import Settings


@dataclass(frozen=True)
class Start:
    """Everything a start needs to know."""

    args: Args
    settings: Settings
    config: Config
    bill: Footprint
    fault: Fault
    log: Log

    def phase(self, name: str, share: int = 1) -> None:
        """Takes its time, and longer while the file `hold`/`name` exists: tests put workers in step with it."""
        hold = self.settings.hold
        while hold and (hold / name).exists():
            time.sleep(0.01)
        time.sleep(self.settings.phase_seconds / share)


@dataclass(frozen=True)
class Cache:
    """The KV cache a worker ended up with. `holder` is its place on the card, None on the CPU."""

    blocks: int
    block_bytes: int
    max_model_len: int
    holder: Holder | None

    def tokens(self, block_size: int) -> int:
        """Tokens of whole requests, as vLLM counts them."""
        per_request = math.ceil(self.max_model_len / block_size)
        return int(self.max_model_len * self.blocks / per_request)

    def concurrency(self, block_size: int) -> float:
        return self.blocks / math.ceil(self.max_model_len / block_size)


def fit_cache(start: Start, available: int, holder: Holder | None) -> Cache:
    """Bytes -> blocks, with vLLM's refusals: nothing left, or less than one request of the full length."""
    config, block = start.config, start.bill.block
    if not block:
        return Cache(0, 0, config.max_model_len, holder)
    if start.args.num_gpu_blocks_override is not None:
        available = start.args.num_gpu_blocks_override * block
    if available <= 0:
        raise errors.no_cache_blocks()
    fits = available // block * config.block_size
    length = min(config.max_model_len, fits) if config.auto_len else config.max_model_len
    needed = math.ceil(length / config.block_size) * block
    if needed > available or not fits:
        raise errors.cache_too_small(length or config.max_model_len, needed or block, available, fits)
    cache = Cache(available // block, block, length, holder)
    _say_cache(start, cache)
    return cache


def _say_cache(start: Start, cache: Cache) -> None:
    size = start.config.block_size
    tokens, times = f"{cache.tokens(size):,}", cache.concurrency(size)
    each = f"Maximum concurrency for {cache.max_model_len:,} tokens per request: {times:.2f}x"
    if start.config.auto_len and cache.max_model_len < start.config.max_model_len:
        text = f"Auto-fit max_model_len: reduced from {start.config.max_model_len} to {cache.max_model_len}"
        start.log.info("kv_cache_utils.py:1990", text)
    if cache.holder is None:
        start.log.info("kv_cache_utils.py:2315", f"CPU KV cache size: {tokens} tokens, {each}")
        return
    start.log.info("kv_cache_utils.py:2177", f"GPU KV cache size: {tokens} tokens")
    start.log.info("kv_cache_utils.py:2178", each)


def die_by_kill() -> None:
    """As the kernel's out-of-memory killer ends a process. Process 1 of a container survives its own SIGKILL."""
    os.kill(os.getpid(), signal.SIGKILL)
    os._exit(137)
