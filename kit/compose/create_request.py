"""The bodies of the requests that create containers, networks and volumes in the Docker Engine. Pure.

A container is made exactly as Docker Compose would make it, labels included, so that `docker compose ps`, `logs`,
`down` and `up` take it for their own, and the other way round.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kit.compose.spec import MountSpec, NetworkSpec, NetworkUse, ProjectSpec, ServiceSpec, VolumeSpec

COMPOSE = "com.docker.compose"
PROJECT = f"{COMPOSE}.project"
SERVICE = f"{COMPOSE}.service"
NUMBER = f"{COMPOSE}.container-number"
ONEOFF = f"{COMPOSE}.oneoff"
CONFIG_HASH = f"{COMPOSE}.config-hash"
IMAGE = f"{COMPOSE}.image"
DEPENDS_ON = f"{COMPOSE}.depends_on"
VERSION = f"{COMPOSE}.version"
NETWORK = f"{COMPOSE}.network"
VOLUME = f"{COMPOSE}.volume"
NO_NETWORK = "none"  # the Engine's name of the network of a container that has none
# What the kit compares where Compose's hash differs: it names the key that changed.
DIGESTS = "monogpu.config"
_ADDRESSES = {
    "ipv4_address": "IPv4Address",
    "ipv6_address": "IPv6Address",
    "link_local_ips": "LinkLocalIPs",
    "mac_address": "MacAddress",
}

Body = dict[str, Any]


def container_body(project: ProjectSpec, service: ServiceSpec, labels: Mapping[str, str]) -> Body:
    """POST /containers/create. It is on its first network, or on none; `endpoint` gives the others."""
    places = dict(endpoint(project, service, use) for use in service.networks[:1])
    body: Body = {
        "Image": service.image,
        "AttachStdout": True,
        "AttachStderr": True,
        "Env": list(service.environment),
        "Labels": {**dict(service.labels), **labels},
        "ExposedPorts": {
            port: {} for port in (*service.exposed, *(f"{port.target}/{port.protocol}" for port in service.ports))
        },
        "HostConfig": {
            "Mounts": [_mount(mount) for mount in service.mounts],
            "PortBindings": _bindings(service),
            "NetworkMode": service.network_mode or next(iter(places), NO_NETWORK),
        },
        "NetworkingConfig": {"EndpointsConfig": places},
    }
    for setting in service.settings:
        place = body
        for step in setting.path[:-1]:
            place = place[step]
        place[setting.path[-1]] = setting.value
    return body


def endpoint(project: ProjectSpec, service: ServiceSpec, use: NetworkUse) -> tuple[str, Body]:
    """A network's name, and the service's host names on it."""
    aliases = [service.container, service.name, *use.aliases]
    fixed = {_ADDRESSES[key]: value for key, value in use.fixed}
    mac = {"MacAddress": fixed.pop("MacAddress")} if "MacAddress" in fixed else {}
    return project.network(use.network).name, {"Aliases": aliases, **_filled(IPAMConfig=fixed), **mac}


def _mount(mount: MountSpec) -> Body:
    options = dict(mount.options)
    body: Body = {
        "Type": mount.kind,
        "Target": mount.target,
        "Source": mount.source,
        "ReadOnly": mount.read_only,
        "BindOptions": _filled(CreateMountpoint=mount.create, Propagation=options.get("propagation")),
        "VolumeOptions": _filled(NoCopy=options.get("nocopy")),
        "TmpfsOptions": _filled(SizeBytes=mount.size, Mode=options.get("mode")),
    }
    return _filled(**body)


def _filled(**values: Any) -> Body:
    return {key: value for key, value in values.items() if value}


def _bindings(service: ServiceSpec) -> Body:
    bindings: Body = {}
    for port in service.ports:
        bindings.setdefault(f"{port.target}/{port.protocol}", []).append(
            {"HostIp": port.host_ip, "HostPort": port.published}
        )
    return bindings


def container_labels(
    project: ProjectSpec, service: ServiceSpec, image: str, compose_hash: str, version: str
) -> dict[str, str]:
    """Compose's own labels and the kit's digests. `image` is the image's id."""
    return {
        PROJECT: project.name,
        SERVICE: service.name,
        NUMBER: "1",
        ONEOFF: "False",
        CONFIG_HASH: compose_hash,
        IMAGE: image,
        DEPENDS_ON: ",".join(f"{n.service}:{n.condition}:{str(n.restart).lower()}" for n in service.depends_on),
        f"{PROJECT}.config_files": ",".join(map(str, project.files)),
        f"{PROJECT}.working_dir": str(project.files[0].parent),
        VERSION: version,
        DIGESTS: digests_label(service),
    }


def digests_label(service: ServiceSpec) -> str:
    """`command=1a2b image=3c4d`: a short hash of each key of the file."""
    return " ".join(f"{key}={digest}" for key, digest in service.digests)


def changed_keys(label: str, service: ServiceSpec) -> tuple[str, ...]:
    """The file's keys that differ from a container's digests label, sorted."""
    before = dict(part.split("=", 1) for part in label.split() if "=" in part)
    after = dict(service.digests)
    return tuple(sorted(key for key in {*before, *after} if before.get(key) != after.get(key)))


def resource_labels(project: ProjectSpec, resource: NetworkSpec | VolumeSpec, version: str) -> dict[str, str]:
    """Compose's labels of a network or a volume."""
    key = NETWORK if isinstance(resource, NetworkSpec) else VOLUME
    return {**dict(resource.labels), PROJECT: project.name, key: resource.key, VERSION: version}
