"""The plan against the card: before anything starts, and once the workers run. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kit.errors import Problem
from kit.gpu import Gpu
from kit.units import MIB, gib, size

# Drivers of one card report totals that differ by a few MiB from version to version.
SAME_CARD = 64 * MIB
WARN = 0.03


@dataclass(frozen=True)
class Promise:
    """What the file on disk says of one worker: its planned footprint and the card it was planned for."""

    service: str
    bytes: int
    card: str
    card_bytes: int


@dataclass(frozen=True)
class Footprint:
    """One worker: what was planned and what the driver shows for its processes, in bytes; None where it shows none."""

    service: str
    planned: int
    measured: int | None

    @property
    def off(self) -> bool:
        """More than planned by over 3%: the card is fuller than the bill says. An idle worker may use less."""
        return self.measured is not None and self.planned / self.measured - 1 < -WARN


def wrong_card(promises: tuple[Promise, ...], gpu: Gpu) -> Problem | None:
    """A file that was printed for another card: its shares are fractions of another total."""
    for promise in promises:
        known = promise.card in (gpu.uuid, gpu.name) or not promise.card.startswith("GPU-")
        if not known or abs(promise.card_bytes - gpu.total_bytes) > SAME_CARD:
            return Problem(
                f"the compose file was planned for {promise.card} with {gib(promise.card_bytes)}, "
                f"and this machine's card is {gpu.name} ({gpu.uuid or 'no UUID'}) with {gib(gpu.total_bytes)}",
                "needed: `monogpu-kit render --gpu live`, which plans for this card",
            )
    return None


def no_room(starting: Sequence[Promise], gpu: Gpu, ours: Mapping[int, int]) -> Problem | None:
    """The workers that will start need more than is free. `ours` maps the pids of processes that end before that to
    their bytes."""
    needed = sum(promise.bytes for promise in starting)
    free = gpu.free_bytes + sum(ours.values())
    if needed <= free:
        return None
    holders = [f"{p.name} (pid {p.pid}) holds {size(p.bytes)}" for p in gpu.processes if p.pid not in ours and p.bytes]
    names = ", ".join(promise.service for promise in starting)
    return Problem(
        f"{names} {'needs' if len(starting) == 1 else 'need'} {gib(needed)}, and {gib(free)} are free on {gpu.name}",
        f"needed: {size(needed - free)} more; {'; '.join(holders) or 'the driver lists no process'}",
        "end what holds the memory, or plan around it with `monogpu-kit render --gpu live`",
    )


def compare(planned: Mapping[str, int], pids: Mapping[str, Sequence[int]], gpu: Gpu) -> tuple[Footprint, ...]:
    """`planned` bytes and `pids` (on the host) by service, against the card as it is now."""
    held = {process.pid: process.bytes for process in gpu.processes}
    return tuple(
        Footprint(service, promised, sum(held.get(pid, 0) for pid in pids.get(service, ())) or None)
        for service, promised in planned.items()
    )
