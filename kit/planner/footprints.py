"""The bill against the driver, once the workers run. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kit.gpu import Gpu

WARN = 0.03


@dataclass(frozen=True)
class Footprint:
    """One worker: what was planned and what the driver shows for its processes, in bytes; None where it shows none."""

    service: str
    planned: int
    measured: int | None

    @property
    def error(self) -> float | None:
        """Planned over measured, less one: positive when the plan was too careful."""
        return self.planned / self.measured - 1 if self.measured else None

    @property
    def off(self) -> bool:
        """More than planned by over 3%: the card is fuller than the bill says. A worker at rest may hold less."""
        return self.error is not None and self.error < -WARN


def compare(planned: Mapping[str, int], pids: Mapping[str, Sequence[int]], gpu: Gpu) -> tuple[Footprint, ...]:
    """`planned` bytes and `pids` (on the host) by service, against the card as it is now."""
    held = {process.pid: process.bytes for process in gpu.processes}
    return tuple(
        Footprint(service, promised, sum(held.get(pid, 0) for pid in pids.get(service, ())) or None)
        for service, promised in planned.items()
    )
