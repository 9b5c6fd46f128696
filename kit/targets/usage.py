"""How much of this machine's cores a project's containers have used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kit.targets.engine import told
from kit.targets.observe import containers

if TYPE_CHECKING:
    from docker import DockerClient


def cpu(client: DockerClient, project: str) -> dict[str, float]:
    """Service -> the seconds of CPU that it has used since its container started. A service that does not run, or
    whose seconds the Engine does not tell, is left out. Raises TargetError."""
    with told(f"what the containers of {project} use cannot be read"):
        running = [each for each in containers(client, project) if each.status == "running"]
        said = {each.service: client.api.stats(each.id, stream=False, one_shot=True) for each in running}
    return {service: seconds for service, stats in said.items() if (seconds := cpu_seconds(stats)) is not None}


def cpu_seconds(stats: Mapping[str, Any]) -> float | None:
    """From the Engine's statistics of one container, which count nanoseconds; None where they are not told."""
    used = ((stats.get("cpu_stats") or {}).get("cpu_usage") or {}).get("total_usage")
    return used / 1e9 if isinstance(used, int) and used > 0 else None


def between(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    """What each service has used from one look to another; one that began anew in between is left out."""
    both = {name: after[name] - seconds for name, seconds in before.items() if name in after}
    return {name: round(used, 3) for name, used in both.items() if used >= 0}
