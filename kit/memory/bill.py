"""The plan as values: every byte of the card is a line with a reason.

The same lines are printed by `plan`, written as comments into the compose file, quoted in errors, and compared with
what the driver says once the workers run.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from kit.gpu import Gpu
from kit.units import MIB, size

if TYPE_CHECKING:
    from kit.facts.facts import Facts
    from kit.manifest.model import Manifest, Model

Graphs = Literal["full", "small", "off"]
# What a worker takes, and what of the card is not the workers'.
LineKind = Literal[
    "weights", "adapters", "sampler", "logits", "activations", "encoder", "graphs", "fp8_cache", "runtime", "context",
    "prompt_logprobs", "kv_cache", "kv_rounding", "measured", "measured_rest", "fixed",
    "process", "others", "in_use", "beyond_limit", "reserve", "margin", "mps_server",
]  # fmt: skip
# Kept free besides: the driver's own bookkeeping, fragmentation, and a desktop that opens one more window.
MARGIN = 128 * MIB
HOST_MARGIN = 1024 * MIB
# nvidia-cuda-mps-server itself: 66 MiB on an H200; by the listings of nvidia-smi that people published 25 to 30 MiB on
# cards from Turing to Ada.
MPS_SERVER = 66 * MIB


@dataclass(frozen=True)
class Line:
    """A line is found by its `kind` and costs `bytes` because of `why`; `name` is that of a process."""

    kind: LineKind
    bytes: int
    why: str
    name: str = ""

    @property
    def label(self) -> str:
        """What people read."""
        return self.name or self.kind.replace("_", " ")


def bytes_of(lines: Iterable[Line], *kinds: LineKind) -> int:
    """What the lines of these kinds cost."""
    return sum(line.bytes for line in lines if line.kind in kinds)


@dataclass(frozen=True)
class Share:
    """What one worker gets. `service` is its compose service (`model.name`, or name-2, name-3 for further replicas).

    `lines` holds every term, KV cache included; `kv_tokens` is what the worker's log will say;
    `concurrency` is kv_tokens over context; `capture_sizes` are the CUDA graph batch sizes, () when off;
    `utilization` is the admission gate for --gpu-memory-utilization as text, None on the CPU;
    `facts` is None for an engine that divides its memory by its own rules, and so are the counts of its KV cache 0;
    `degraded` says what auto settings were reduced to, and what that saved; the KV cache has `kv_blocks` of `kv_block`
    tokens; `image_tokens` limit an image, 0 for no limit."""

    model: Model
    facts: Facts | None
    service: str
    replica: int
    lines: tuple[Line, ...]
    kv_bytes: int
    kv_tokens: int
    concurrency: float
    context: int
    requests: int
    batched_tokens: int
    graphs: Graphs
    capture_sizes: tuple[int, ...]
    utilization: str | None
    degraded: tuple[str, ...] = ()
    lora_rank: int = 0
    start_seconds: int = 600
    kv_blocks: int = 0
    kv_block: int = 0
    image_tokens: int = 0

    @property
    def total_bytes(self) -> int:
        """The footprint as the driver will see it."""
        return sum(line.bytes for line in self.lines)

    def bytes_of(self, *kinds: LineKind) -> int:
        """What the lines of these kinds cost."""
        return bytes_of(self.lines, *kinds)


@dataclass(frozen=True)
class Plan:
    """A manifest that fits: `usable_bytes` = total - `reserved`; `spare_bytes` is left when every share is paid."""

    manifest: Manifest
    gpu: Gpu
    reserved: tuple[Line, ...]
    usable_bytes: int
    shares: tuple[Share, ...]
    notes: tuple[str, ...] = field(default=())

    @property
    def spare_bytes(self) -> int:
        """What no worker uses."""
        return self.usable_bytes - sum(share.total_bytes for share in self.shares)


def reserved(gpu: Gpu, reserve: int | None, mps: bool = False) -> tuple[Line, ...]:
    """What of the card is not the workers'. `reserve` is the manifest's gpu.reserve in bytes, or None; `mps` its
    gpu.mps.

    A reserve covers what other processes use now, as long as that is no more than the reserve."""
    server = Line("mps_server", MPS_SERVER, "a process of its own, as large as on an H200", "MPS server")
    return (*_others(gpu, reserve), *((server,) if mps else ()))


def _others(gpu: Gpu, reserve: int | None) -> tuple[Line, ...]:
    used = max(gpu.total_bytes - gpu.free_bytes, 0)
    margin = HOST_MARGIN if gpu.kind == "host" else MARGIN
    beyond = 0 if gpu.limit_bytes is None else gpu.total_bytes - gpu.limit_bytes
    if beyond > used:
        why = f"the manifest plans for {size(gpu.total_bytes - beyond)} of the card"
        left = Line("beyond_limit", beyond, why, "beyond gpu.memory")
        return (left, Line("margin", margin if reserve is None else reserve, "kept free"))
    if reserve is not None and reserve >= used:
        in_use = f"; {size(used)} of it is in use now" if used else ""
        return (Line("reserve", reserve, f"gpu.reserve{in_use}"),)
    what = (
        "the system and its file cache" if gpu.kind == "host" else "the driver, fragmentation, a desktop's next window"
    )
    why = f"kept free: {what}" if reserve is None else f"others use more than the reserve of {size(reserve)}"
    return (*_in_use(gpu, used), Line("margin", margin, why))


def _in_use(gpu: Gpu, used: int) -> tuple[Line, ...]:
    """One line for each process that the driver lists, and one for what is left."""
    if gpu.kind == "host":
        return (Line("in_use", used, "used by other programs on this host"),) if used else ()
    listed = [p for p in gpu.processes if p.bytes]
    named = (Line("process", p.bytes, "a process on the card now", f"{p.name} (pid {p.pid})") for p in listed)
    rest = used - sum(p.bytes for p in listed)
    others = Line("others", rest, "in use by processes that the driver does not list")
    return (*named, *((others,) if rest > 0 else ()))
