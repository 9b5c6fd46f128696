"""The plan as values: every byte of the card is a line with a reason.

The same lines are printed by `plan`, written as comments into the compose file, quoted in errors, and compared with
what the driver says once the workers run.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from kit.facts.facts import Facts
    from kit.gpu import Gpu
    from kit.manifest.model import Manifest, Model

Graphs = Literal["full", "small", "off"]


@dataclass(frozen=True)
class Line:
    """`what` costs `bytes` because of `why`."""

    what: str
    bytes: int
    why: str


@dataclass(frozen=True)
class Share:
    """What one worker gets. `service` is its compose service (`model.name`, or name-2, name-3 for further replicas).

    `lines` holds every term, KV cache included; `kv_tokens` is what the worker's log will say;
    `concurrency` is kv_tokens over context; `capture_sizes` are the CUDA graph batch sizes, () when off;
    `utilization` is the admission gate for --gpu-memory-utilization as text, None on the CPU;
    `facts` is None for an engine that divides its memory by its own rules, and so are the counts of its KV cache 0;
    `gave_up` says what auto settings gave up, and what that bought."""

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
    gave_up: tuple[str, ...] = ()
    lora_rank: int = 0
    start_seconds: int = 600

    @property
    def total_bytes(self) -> int:
        """The footprint as the driver will see it."""
        return sum(line.bytes for line in self.lines)


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
