"""What runs of a project, known by its labels alone: `status`, `logs` and `down` need no file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from kit.compose import create_request
from kit.compose.client import translate_errors
from kit.compose.events import Did, Watch, unwatched
from kit.compose.observe import containers
from kit.compose.observed import (
    ContainerState,
    Publication,
    publications,
)
from kit.compose.reconcile import stop_order
from kit.errors import Problem, TargetError
from kit.stack import labels as kit_labels

if TYPE_CHECKING:
    from docker import DockerClient


@dataclass(frozen=True)
class ContainerSummary:
    """One container. `state` is Docker's (running, exited, ...), `health` None without a check; `started` None before
    the first start; `names` are what clients put in "model"; `role` is worker, router, fetch, mps or ""; `planned` is
    the footprint that the plan promised, in bytes; `out_of_memory`: the kernel killed it for the host's memory."""

    service: str
    container: str
    state: str
    health: str | None
    restarts: int
    started: datetime | None
    exit_code: int | None
    image: str
    role: str
    names: tuple[str, ...]
    ports: tuple[Publication, ...]
    task: str = ""
    planned: int | None = None
    out_of_memory: bool = False
    made: datetime | None = None


def status(project: str, client: DockerClient) -> tuple[ContainerSummary, ...]:
    """The project's containers in boot order; () when there are none. Raises TargetError."""
    with translate_errors(f"the state of {project} cannot be read"):
        listed = client.api.containers(all=True, filters={"label": f"{create_request.PROJECT}={project}"})
        ports = [port for entry in listed for port in publications(entry)]
        found = tuple(reversed(stop_order(containers(client, project))))
    return tuple(_status(container, ports) for container in found)


def _status(container: ContainerState, ports: list[Publication]) -> ContainerSummary:
    return ContainerSummary(
        service=container.service,
        container=container.name,
        state=container.status,
        health=container.health,
        restarts=container.restarts,
        started=container.started,
        exit_code=container.exit_code if container.status in ("exited", "dead") else None,
        image=container.image_name,
        role=container.label(kit_labels.ROLE),
        names=_names(container),
        ports=tuple(port for port in ports if port.container == container.name),
        task=container.label(kit_labels.TASK),
        planned=_planned(container),
        out_of_memory=container.out_of_memory,
        made=container.made,
    )


def _planned(container: ContainerState) -> int | None:
    said = container.label(kit_labels.BYTES)
    return int(said) if said.isdecimal() else None


def _names(container: ContainerState) -> tuple[str, ...]:
    return tuple(name for name in container.label(kit_labels.NAMES).split(",") if name)


def logs(project: str, client: DockerClient, name: str, *, follow: bool = False, tail: int = 100) -> Iterator[str]:
    """The lines of a service's log; `name` is a service, a container, or a name that clients ask for. Raises
    TargetError when nothing is called so."""
    doing = f"the log of {name} cannot be read"
    with translate_errors(doing):
        container = _find(containers(client, project), project, name)
        stream = client.api.logs(container.id, stream=True, follow=follow, tail=tail)
    return _lines(stream, doing)


def _find(found: tuple[ContainerState, ...], project: str, name: str) -> ContainerState:
    if not found:
        raise TargetError(Problem(f"nothing runs of {project}", "`monogpu-kit up` starts it"))
    called = {each: container for container in reversed(found) for each in (*_names(container), container.name)}
    called |= {container.service: container for container in found}
    if name not in called:
        near = get_close_matches(name, called, 1)
        hint = f"did you mean {near[0]}?" if near else ""
        raise TargetError(Problem(f"{project} has no {name}", f"it has {', '.join(sorted(called))}", hint))
    return called[name]


def _lines(stream: Iterator[bytes], doing: str) -> Iterator[str]:
    """Chunks of bytes end anywhere; lines end with \n."""
    rest = b""
    with translate_errors(doing):
        for chunk in stream:
            *whole, rest = (rest + chunk).split(b"\n")
            yield from (line.decode(errors="replace").rstrip("\r") for line in whole)
    if rest:
        yield rest.decode(errors="replace")


def down(project: str, client: DockerClient, watch: Watch = unwatched, *, volumes: bool = False) -> tuple[Did, ...]:
    """Stops and removes the project's containers, dependents first, then its networks and, when asked, its volumes.
    Nothing is left to do the second time. Raises TargetError."""
    done: list[Did] = []

    def tell(verb: str, name: str) -> None:
        done.append(Did(verb, name, "down"))
        watch(done[-1])

    ours: Any = {"label": f"{create_request.PROJECT}={project}"}
    for container in _all_containers(client, project):
        with translate_errors(f"{container.name} cannot be removed"):
            _remove(client, container, volumes)
        tell("remove", container.name)
    for network in _listed(client, "networks", ours):
        with translate_errors(f"the network {network} cannot be removed"):
            client.api.remove_network(network)
        tell("remove network", network)
    for volume in _listed(client, "volumes", ours) if volumes else ():
        with translate_errors(f"the volume {volume} cannot be removed"):
            client.api.remove_volume(volume)
        tell("remove volume", volume)
    return tuple(done)


def _all_containers(client: DockerClient, project: str) -> tuple[ContainerState, ...]:
    with translate_errors(f"the containers of {project} cannot be listed"):
        return stop_order(containers(client, project))


def _listed(client: DockerClient, kind: str, filters: Any) -> list[str]:
    with translate_errors(f"the {kind} cannot be listed"):
        found = client.api.networks(filters=filters) if kind == "networks" else client.api.volumes(filters=filters)
        return sorted(each["Name"] for each in (found if isinstance(found, list) else found["Volumes"] or ()))


def _remove(client: DockerClient, container: ContainerState, volumes: bool) -> None:
    from docker.errors import NotFound

    try:
        client.api.stop(container.id, timeout=container.stop_seconds)
        client.api.remove_container(container.id, v=volumes, force=True)
    except NotFound:
        return
