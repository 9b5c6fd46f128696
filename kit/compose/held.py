"""What a project's own containers hold of the memory that is planned: the plan is made as if they were gone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kit.compose import exec as inside
from kit.compose.client import told
from kit.compose.observe import statistics
from kit.gpu import Gpu
from kit.status import model as views
from kit.units import gib

if TYPE_CHECKING:
    from docker import DockerClient


def apart_from(client: DockerClient, project: str, gpu: Gpu) -> Gpu:
    """The card, or the host's memory, as it would be without this project's containers; where it comes from says so.
    Where the driver does not tell a process's bytes (WSL2), they stay counted as held. Raises TargetError."""
    if gpu.kind == "host":
        return without(gpu, _of_the_host(client, project))
    ours = {pid for pids in inside.pids(client, project).values() for pid in pids}
    held = sum(process.bytes for process in gpu.processes if process.pid in ours)
    others = tuple(process for process in gpu.processes if process.pid not in ours)
    return replace(without(gpu, held), processes=others)


def without(gpu: Gpu, held: int) -> Gpu:
    """The card when `held` bytes of it, which this project's own workers hold, are free."""
    if not held:
        return gpu
    words = f"without what this project's own workers hold: {gib(held)}"
    origin = f"{gpu.origin}, {words}" if gpu.origin else words
    return replace(gpu, free_bytes=min(gpu.free_bytes + held, gpu.total_bytes), origin=origin)


def _of_the_host(client: DockerClient, project: str) -> int:
    with told(f"what {project} holds cannot be read"):
        return sum(views.used_memory(said) or 0 for _, said in statistics(client, project))
