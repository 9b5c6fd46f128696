"""What a project's containers do and use now: requests, and memory and CPU as `docker stats` counts them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kit import metrics
from kit.compose import exec as container_exec
from kit.compose.client import translate_errors
from kit.compose.observe import containers
from kit.compose.observed import ContainerState
from kit.errors import TargetError
from kit.gpu import Gpu
from kit.metrics import Load
from kit.stack.labels import metrics_of, port_of
from kit.units import gib

if TYPE_CHECKING:
    from docker import DockerClient


# Real Ollama's image has no Python.
_CONNECTIONS = "cat /proc/net/tcp /proc/net/tcp6 2> /dev/null || true"


def load(client: DockerClient, worker: ContainerState, at: float) -> Load | None:
    """A worker's requests, by its metrics; where these do not count those that run, its open connections stand for
    them, for HAProxy opens one a request. None when it does not answer."""
    labels = worker.labels or {}
    address = metrics_of(labels)
    try:
        found = metrics.load(container_exec.get(client, worker.id, *address), at) if address else Load(at, waiting=0)
        if found.running is None and found.waiting is not None:
            count = metrics.connections(container_exec.shell(client, worker.id, _CONNECTIONS), port_of(labels))
            return replace(found, running=max(count - found.waiting, 0))
        return found
    except TargetError:
        return None


def apart_from(client: DockerClient, project: str, gpu: Gpu) -> Gpu:
    """The card, or the host's memory, as it would be without this project's containers; where it comes from says so.
    Where the driver does not report a process's bytes (WSL2), they stay counted as in use. Raises TargetError."""
    if gpu.kind == "host":
        return without(gpu, sum(used or 0 for used in memory(client, project).values()))
    ours = {pid for pids in container_exec.pids(client, project).values() for pid in pids}
    held = sum(process.bytes for process in gpu.processes if process.pid in ours)
    others = tuple(process for process in gpu.processes if process.pid not in ours)
    return replace(without(gpu, held), processes=others)


def without(gpu: Gpu, held: int) -> Gpu:
    """The card when `held` bytes of it, which this project's own workers use, are free."""
    if not held:
        return gpu
    part = f"without what this project's own workers hold: {gib(held)}"
    origin = f"{gpu.origin}, {part}" if gpu.origin else part
    return replace(gpu, free_bytes=min(gpu.free_bytes + held, gpu.total_bytes), origin=origin)


def memory(client: DockerClient, project: str) -> dict[str, int | None]:
    """Running service -> bytes of the host's memory that it holds, None where the Engine does not say."""
    with translate_errors(f"the memory of {project} cannot be read"):
        return {service: used_memory(said) for service, said in statistics(client, project)}


def statistics(client: DockerClient, project: str) -> tuple[tuple[str, dict[str, Any]], ...]:
    """(service, what the Engine counts of it now) of every container of the project that runs."""
    running = (each for each in containers(client, project) if each.status == "running")
    return tuple((each.service, client.api.stats(each.id, stream=False, one_shot=True)) for each in running)


def cpu(client: DockerClient, project: str) -> dict[str, float]:
    """Service -> the seconds of CPU that it has used since its container started. A service that does not run, or
    whose seconds the Engine does not report, is left out. Raises TargetError."""
    with translate_errors(f"what the containers of {project} use cannot be read"):
        said = statistics(client, project)
    return {service: seconds for service, stats in said if (seconds := used_cpu(stats)) is not None}


def between(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    """What each service has used between two samples; one that was recreated in between is left out."""
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
