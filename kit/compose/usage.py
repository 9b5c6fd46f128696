"""How much of this machine's cores a project's containers have used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kit.compose.client import told
from kit.compose.observe import statistics
from kit.status import model as views

if TYPE_CHECKING:
    from docker import DockerClient


def cpu(client: DockerClient, project: str) -> dict[str, float]:
    """Service -> the seconds of CPU that it has used since its container started. A service that does not run, or
    whose seconds the Engine does not tell, is left out. Raises TargetError."""
    with told(f"what the containers of {project} use cannot be read"):
        said = statistics(client, project)
    return {service: seconds for service, stats in said if (seconds := views.used_cpu(stats)) is not None}


def between(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    """What each service has used from one look to another; one that began anew in between is left out."""
    both = {name: after[name] - seconds for name, seconds in before.items() if name in after}
    return {name: round(used, 3) for name, used in both.items() if used >= 0}
