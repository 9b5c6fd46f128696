"""The card: asked from the driver (NVML), read from a recorded gpu.json, or assumed from a bare size.

`total_bytes` is what the driver lets programs use: 15.47 GiB on a card sold as 16 GB.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Process:
    """A process that holds memory on the card."""

    pid: int
    name: str
    bytes: int


@dataclass(frozen=True)
class Gpu:
    """A card (kind cuda) or the host's own memory (kind host, when the manifest says `gpu.device: none`).

    `assumed` names what nobody measured, in words for the bill."""

    name: str
    total_bytes: int
    free_bytes: int
    uuid: str | None = None
    index: int = 0
    compute_capability: str | None = None
    driver: str | None = None
    processes: tuple[Process, ...] = ()
    assumed: tuple[str, ...] = ()
    kind: Literal["cuda", "host"] = "cuda"
    origin: str = ""
