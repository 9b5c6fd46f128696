"""What a project's containers use now, as `docker stats` counts it: memory and CPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kit.compose import exec as inside
from kit.compose.client import translate_errors
from kit.compose.observe import containers
from kit.gpu import Gpu
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
    with translate_errors(f"what {project} holds cannot be read"):
        return sum(used_memory(said) or 0 for _, said in statistics(client, project))


def statistics(client: DockerClient, project: str) -> tuple[tuple[str, dict[str, Any]], ...]:
    """(service, what the Engine counts of it now) of every container of the project that runs."""
    running = (each for each in containers(client, project) if each.status == "running")
    return tuple((each.service, client.api.stats(each.id, stream=False, one_shot=True)) for each in running)


def cpu(client: DockerClient, project: str) -> dict[str, float]:
    """Service -> the seconds of CPU that it has used since its container started. A service that does not run, or
    whose seconds the Engine does not tell, is left out. Raises TargetError."""
    with translate_errors(f"what the containers of {project} use cannot be read"):
        said = statistics(client, project)
    return {service: seconds for service, stats in said if (seconds := used_cpu(stats)) is not None}


def between(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    """What each service has used from one look to another; one that began anew in between is left out."""
    both = {name: after[name] - seconds for name, seconds in before.items() if name in after}
    return {name: round(used, 3) for name, used in both.items() if used >= 0}


def used_memory(stats: Mapping[str, Any]) -> int | None:
    """The Engine's answer to /containers/{id}/stats -> bytes that the container holds, as `docker stats` counts them:
    without the files that the kernel keeps and can drop. None when it does not say."""
    memory = stats.get("memory_stats") or {}
    usage, details = memory.get("usage"), memory.get("stats") or {}
    if not isinstance(usage, int):
        return None
    dropped = details.get("total_inactive_file", details.get("inactive_file", 0))
    return max(usage - int(dropped), 0)


def used_cpu(stats: Mapping[str, Any]) -> float | None:
    """The same answer -> the seconds of CPU that the container has used since it started; None when it does not say."""
    used = ((stats.get("cpu_stats") or {}).get("cpu_usage") or {}).get("total_usage")
    return used / 1e9 if isinstance(used, int) and used > 0 else None
