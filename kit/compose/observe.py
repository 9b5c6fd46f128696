"""Reads the state of Docker and of this host that `up` decides on, once, before it decides."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from kit.compose import create_request as labels
from kit.compose.observed import (
    ContainerState,
    NetworkState,
    ObservedState,
    container,
    project_of,
    publications,
)
from kit.compose.preflight import Listener
from kit.compose.spec import ProjectSpec

if TYPE_CHECKING:
    from docker import DockerClient


UNKNOWN = "another program (`ss -ltnp` names it)"


def observe(client: DockerClient, project: ProjectSpec) -> ObservedState:
    """Everything that `reconcile` decides on. Raises docker's own errors."""
    found = containers(client, project.name)
    listed = client.api.containers(all=True)
    volumes = client.api.volumes()["Volumes"] or ()
    named = {name.lstrip("/") for entry in listed for name in entry.get("Names") or ()}
    return ObservedState(
        containers=found,
        networks=tuple(
            NetworkState(
                each["Name"],
                bool(each.get("Internal")),
                project_of(each),
                tuple(sorted((each.get("Options") or {}).items())),
            )
            for each in client.api.networks()
        ),
        volumes=frozenset(entry["Name"] for entry in volumes),
        images={service.image: image_id(client, service.image) for service in project.services},
        published=tuple(port for entry in listed for port in publications(entry)),
        names=frozenset(named - {container.name for container in found}),
        owned=frozenset(v["Name"] for v in volumes if project_of(v) == project.name),
    )


def containers(client: DockerClient, project: str) -> tuple[ContainerState, ...]:
    """The project's containers; `docker compose run`'s are not."""
    wanted = {"label": [f"{labels.PROJECT}={project}", f"{labels.ONEOFF}=False"]}
    found = (inspect(client, entry["Id"]) for entry in client.api.containers(all=True, filters=wanted))
    return tuple(each for each in found if each is not None)


def inspect(client: DockerClient, id: str) -> ContainerState | None:
    """One container, None when it is gone."""
    from docker.errors import NotFound

    try:
        return container(client.api.inspect_container(id))
    except NotFound:
        return None


def image_id(client: DockerClient, name: str) -> str | None:
    """The id of an image, None when it is not on this machine."""
    from docker.errors import ImageNotFound

    try:
        return client.images.get(name).id
    except ImageNotFound:
        return None


def listeners(ports: Iterable[int]) -> tuple[Listener, ...]:
    """What listens on one of `ports` of this host. Only root sees the names of other users' programs."""
    import psutil

    def program(pid: int | None) -> str:
        try:
            return f"{psutil.Process(pid).name()} (pid {pid})" if pid else UNKNOWN
        except psutil.Error:
            return UNKNOWN

    wanted = set(ports)
    held: list[Any] = [each for each in psutil.net_connections("tcp") if each.status == psutil.CONN_LISTEN]
    return tuple(
        Listener(each.laddr.ip, each.laddr.port, program(each.pid)) for each in held if each.laddr.port in wanted
    )
