"""A compose project as frozen values: what Docker Compose makes of its files. Names are the files' keys;
`ResourceSpec.name` is Docker's."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kit.stack import labels as kit_labels
from kit.stack.model import Condition

Json = None | bool | int | str | Sequence["Json"] | Mapping[str, "Json"]


@dataclass(frozen=True)
class Dependency:
    """A service starts when `service` has reached `condition`; `restart`: and is restarted whenever that one is. One
    that is not `required` may be missing."""

    service: str
    condition: Condition
    restart: bool = False
    required: bool = True


@dataclass(frozen=True)
class PortSpec:
    """`host_ip`:`published` on the host (`""` is every address) -> `target` in the container."""

    host_ip: str
    published: str
    target: int
    protocol: str = "tcp"


@dataclass(frozen=True)
class MountSpec:
    """`source` is an absolute path (bind), Docker's name of a volume, or "" (tmpfs); `size` is a tmpfs's, in bytes.
    `create`: a path that is not there is made. `options` are its mode, nocopy or propagation."""

    kind: str
    source: str
    target: str
    read_only: bool = False
    size: int | None = None
    create: bool = False
    options: tuple[tuple[str, Json], ...] = ()

    @property
    def identity(self) -> list[Json]:
        """What makes it another mount."""
        return [self.kind, self.source, self.target, self.read_only, self.size, dict(self.options)]


@dataclass(frozen=True)
class NetworkUse:
    """A service's place on the network with the file's key `network`; each alias is one more host name, `fixed` are
    the addresses that the file gives it, by the file's keys."""

    network: str
    aliases: tuple[str, ...] = ()
    fixed: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class RequestField:
    """A value that goes into the Engine's create request as it is, at `path` (`HostConfig`, `ShmSize`)."""

    path: tuple[str, ...]
    value: Json


@dataclass(frozen=True)
class ServiceSpec:
    """One service. `digests` has a short hash for every key of the file that makes the container what it is: when
    they are those of the running container, nothing has to be replaced."""

    name: str
    image: str
    container: str
    environment: tuple[str, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    mounts: tuple[MountSpec, ...] = ()
    networks: tuple[NetworkUse, ...] = ()
    network_mode: str = ""
    exposed: tuple[str, ...] = ()
    ports: tuple[PortSpec, ...] = ()
    depends_on: tuple[Dependency, ...] = ()
    settings: tuple[RequestField, ...] = ()
    digests: tuple[tuple[str, str], ...] = ()

    @property
    def command(self) -> tuple[str, ...]:
        """The arguments of its command; () when the file has none."""
        found = (setting.value for setting in self.settings if setting.path == ("Cmd",))
        return tuple(str(word) for value in found if isinstance(value, list | tuple) for word in value)

    @property
    def is_worker(self) -> bool:
        """Whether it holds memory that the next worker may wait for."""
        on_card = any(setting.path[-1] == "DeviceRequests" for setting in self.settings)
        return on_card or dict(self.labels).get(kit_labels.ROLE) == "worker"


@dataclass(frozen=True)
class ResourceSpec:
    """A network or a volume; an external one is used, never made or removed. `options` are the driver's, sorted."""

    key: str
    name: str
    external: bool = False
    options: tuple[tuple[str, str], ...] = ()
    labels: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class VolumeSpec(ResourceSpec):
    """A volume."""


@dataclass(frozen=True)
class NetworkSpec(ResourceSpec):
    """A network; an internal one reaches nothing outside."""

    internal: bool = False
    attachable: bool = False
    ipv6: bool = False


@dataclass(frozen=True)
class ProjectSpec:
    """A compose project: `file` is the one that the kit prints, `files` are all that Compose reads. `services` are in
    boot order: dependencies first, otherwise by name."""

    name: str
    file: Path
    services: tuple[ServiceSpec, ...]
    networks: tuple[NetworkSpec, ...]
    volumes: tuple[VolumeSpec, ...]
    files: tuple[Path, ...] = ()

    def network(self, key: str) -> NetworkSpec:
        """The network with this key."""
        return next(network for network in self.networks if network.key == key)

    def only(self, names: Collection[str]) -> ProjectSpec:
        """These services alone, with the dependencies that they need to run: one-shot services, and those they restart
        with. They no longer wait for any other."""
        needs = [need for service in self.services if service.name in names for need in service.depends_on]
        needed = (n.service for n in needs if n.restart or n.condition == "service_completed_successfully")
        left = {*names, *needed}
        services = [
            replace(s, depends_on=tuple(d for d in s.depends_on if d.service in left))
            for s in self.services
            if s.name in left
        ]
        return replace(self, services=tuple(services))

    def awaited(self, name: str) -> frozenset[Condition]:
        """The conditions of a service that others wait for."""
        needs = (need for service in self.services for need in service.depends_on if need.service == name)
        return frozenset(need.condition for need in needs)

    def service(self, name: str) -> ServiceSpec:
        """The service with this name."""
        return next(service for service in self.services if service.name == name)


def boot_order(names: Iterable[str], needs: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    """`names`, each after those that it needs, otherwise in their order; names in a circle come last, as given."""
    left = list(names)
    done: list[str] = []
    while left:
        free = next((name for name in left if not set(needs.get(name, ())) & set(left)), None)
        if free is None:
            return (*done, *left)
        left.remove(free)
        done.append(free)
    return tuple(done)
