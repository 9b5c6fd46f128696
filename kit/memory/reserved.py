"""What of the card is not the workers': what others hold now, or the manifest keeps for them, and a margin. Pure."""

from __future__ import annotations

from kit.gpu import Gpu
from kit.memory.bill import Line
from kit.units import MIB, size

# Kept free besides: the driver's own bookkeeping, fragmentation, and a desktop that opens one more window.
MARGIN = 128 * MIB
HOST_MARGIN = 1024 * MIB
# nvidia-cuda-mps-server itself: 66 MiB on an H200; by the listings of nvidia-smi that people published 25 to 30 MiB on
# cards from Turing to Ada.
MPS_SERVER = 66 * MIB


def reserved(gpu: Gpu, wished: int | None, mps: bool = False) -> tuple[Line, ...]:
    """The lines that are paid before any worker. `wished` is the manifest's gpu.reserve in bytes, or None; `mps` its
    gpu.mps.

    A reserve that is wished for covers what others hold now, as long as they hold no more than that."""
    server = (Line("MPS server", MPS_SERVER, "a process of its own, as large as on an H200"),) if mps else ()
    return (*_others(gpu, wished), *server)


def _others(gpu: Gpu, wished: int | None) -> tuple[Line, ...]:
    held = max(gpu.total_bytes - gpu.free_bytes, 0)
    margin = HOST_MARGIN if gpu.kind == "host" else MARGIN
    kept = (gpu.total_bytes - gpu.limit_bytes) if gpu.limit_bytes is not None else 0
    if kept > held:
        left = Line("beyond gpu.memory", kept, f"the manifest plans for {size(gpu.total_bytes - kept)} of the card")
        return (left, Line("margin", margin if wished is None else wished, "kept free"))
    if wished is not None and wished >= held:
        return (Line("reserve", wished, _why_wished(gpu, held)),)
    lines = _held(gpu, held)
    if wished is not None:
        return (*lines, Line("margin", margin, f"others hold more than the reserve of {size(wished)}"))
    why = (
        "the system and its file cache" if gpu.kind == "host" else "the driver, fragmentation, a desktop's next window"
    )
    return (*lines, Line("margin", margin, f"kept free: {why}"))


def _why_wished(gpu: Gpu, held: int) -> str:
    return f"gpu.reserve; others hold {size(held)} of it now" if held else "gpu.reserve"


def _held(gpu: Gpu, held: int) -> tuple[Line, ...]:
    """One line a process that the driver names, and one for what it does not."""
    if gpu.kind == "host":
        return (Line("in use", held, "what other programs on this host hold now"),) if held else ()
    named = [Line(f"{p.name} (pid {p.pid})", p.bytes, "a process on the card now") for p in gpu.processes if p.bytes]
    rest = held - sum(line.bytes for line in named)
    if rest > 0:
        named.append(Line("others", rest, "held on the card now, by nobody the driver names"))
    return tuple(named)
