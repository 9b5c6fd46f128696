"""What would stop `up` halfway, found before it begins: every problem at once. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from kit.compose.observed import ObservedState
from kit.compose.spec import ProjectSpec
from kit.errors import Problem

EVERYWHERE = ("", "0.0.0.0", "::")


@dataclass(frozen=True)
class Listener:
    """A program listens on `port` at `host_ip` ("0.0.0.0" and "::" are every address); `who` is for messages."""

    host_ip: str
    port: int
    who: str
    protocol: str = "tcp"


def refusals(
    project: ProjectSpec, observed: ObservedState, exists: Callable[[str], bool], listeners: Sequence[Listener]
) -> tuple[Problem, ...]:
    """`exists` tells whether a path to mount is there; `listeners` hold ports of this host."""
    return (
        *_missing_paths(project, exists),
        *_names(project, observed),
        *_ports(project, observed, listeners),
    )


def _missing_paths(project: ProjectSpec, exists: Callable[[str], bool]) -> Iterator[Problem]:
    for service in project.services:
        for mount in service.mounts:
            if mount.kind == "bind" and not mount.create and not exists(mount.source):
                what = f"{service.name} mounts {mount.source}, and it is not there"
                yield Problem(what, "render again, or fix the path")


def _names(project: ProjectSpec, observed: ObservedState) -> Iterator[Problem]:
    """Networks, volumes and containers that the file expects, or whose names are taken."""
    for network in project.networks:
        there = observed.network(network.name)
        if network.external and there is None:
            yield Problem(f"the network {network.name} is not there", f"`docker network create {network.name}`")
        if there and not network.external and there.project != project.name:
            yield Problem(f"there is a network {network.name}, and it is not this project's", "give one another name")
    for volume in project.volumes:
        if volume.external and volume.name not in observed.volumes:
            yield Problem(f"the volume {volume.name} is not there", f"`docker volume create {volume.name}`")
    for name in (service.container for service in project.services):
        if name in observed.names:
            yield Problem(
                f"there is a container {name}, and it is not this project's",
                f"`docker rm -f {name}`, or give the project another `name`",
            )


def _ports(project: ProjectSpec, observed: ObservedState, listeners: Sequence[Listener]) -> Iterator[Problem]:
    ours = {(port.port, port.protocol) for port in observed.published if port.project == project.name}
    others = [Listener(p.host_ip, p.port, f"the container {p.container}", p.protocol) for p in observed.published]
    for service in project.services:
        for port in service.ports:
            number = int(port.published) if port.published else 0
            same = [one for one in (*others, *listeners) if (one.port, one.protocol) == (number, port.protocol)]
            holder = next((one for one in same if overlap(one.host_ip, port.host_ip)), None)
            if holder and number and (number, port.protocol) not in ours:
                needed = f"stop it, or write another port: `router: {{port: {number + 1}}}`"
                yield Problem(f"port {number}, which {service.name} publishes, is taken by {holder.who}", needed)


def overlap(one: str, other: str) -> bool:
    """Whether two addresses of this host have one in common."""
    return one == other or any(address in EVERYWHERE for address in (one, other))
