"""The longer lines that vLLM logs when a start goes well."""

from __future__ import annotations

from dataclasses import dataclass

from .errors import gib

SAFETY = 150 * 1024**2


def pinned_note(free: int, pinned: int) -> str:
    return (
        f"Initial free memory {gib(free)} GiB, reserved {gib(pinned)} GiB memory for KV Cache as specified by "
        "kv_cache_memory_bytes config and skipped memory profiling. This does not respect the gpu_memory_utilization "
        "config. Only use kv_cache_memory_bytes config when you want manual control of KV cache memory size. If "
        "OOM'ed, check the difference of initial free memory between the current run and the previous run where "
        "kv_cache_memory_bytes is suggested and update it correspondingly."
    )


@dataclass(frozen=True)
class Usage:
    """What a start without pinned bytes found, in bytes."""

    snapshot: int
    total: int
    utilization: float
    requested: int
    weights: int
    peak: int
    non_torch: int
    graphs: int
    kv: int

    def note(self) -> str:
        rest = self.weights + self.peak + self.non_torch + self.graphs + SAFETY
        to_requested, to_limit = self.requested - rest, self.snapshot - rest
        return (
            f"Free memory on device ({gib(self.snapshot)}/{gib(self.total)} GiB) on startup. Desired GPU memory "
            f"utilization is ({self.utilization}, {gib(self.requested)} GiB). Actual usage is {gib(self.weights)} GiB "
            f"for weight, {gib(self.peak)} GiB for peak activation, {gib(self.non_torch)} GiB for non-torch memory, "
            f"and {gib(self.graphs)} GiB for CUDAGraph memory. Replace gpu_memory_utilization config with "
            f"`--kv-cache-memory={to_requested}` ({gib(to_requested)} GiB) to fit into requested memory, or "
            f"`--kv-cache-memory={to_limit}` ({gib(to_limit)} GiB) to fully utilize gpu memory. Current kv cache "
            f"memory in use is {gib(self.kv)} GiB."
        )
