"""The keys of a compose file, as Compose's reference calls them, of the services, networks and volumes of a stack."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kit.stack.model import Attachment, Device, Health, Mount, Network, Port, Service, Stack, Value
from kit.stack.yaml_lines import Alias, Anchored, Arguments, Flow, Node, is_flag

Keys = dict[str, Node]

SHORT = 2  # labels that are printed in one line

# What Compose's short notations can say without doubt: `volume:/path:ro` and `127.0.0.1:30000:30000`.
_VOLUME, _PATH, _IPV4 = (
    re.compile(r"[A-Za-z0-9][\w.-]+", re.ASCII),
    re.compile(r"/[\w./-]*", re.ASCII),
    re.compile(r"\d+(\.\d+){3}"),
)


def service_keys(service: Service, texts: Mapping[str, str]) -> Keys:
    """What is printed below a service's name. `texts` are those that are printed once, with the name of each."""
    keys: Keys = {
        "image": service.image,
        "entrypoint": None if service.entrypoint is None else Flow(list(service.entrypoint)),
        "command": _command(service.command, texts),
        "environment": dict(service.environment),
        "deploy": _deploy(service.device),
        "depends_on": {name: _awaited(name, condition, service) for name, condition in service.depends_on},
        "healthcheck": _health(service.health),
        "network_mode": None if service.networks else "none",
        "networks": _attachments(service.networks),
        "ports": [_port(port) for port in service.ports],
        "volumes": [_mount(mount) for mount in service.mounts if mount.kind != "tmpfs"],
        "tmpfs": _tmpfs(service.mounts),
        "shm_size": service.shm_bytes,
        "user": service.user,
        "read_only": service.read_only or None,
        "init": True,
        "cap_drop": Flow(["ALL"]),
        "security_opt": Flow(["no-new-privileges:true"]),
        "restart": service.restart,
        "stop_grace_period": f"{service.stop_grace}s",
        "logging": {"driver": "json-file", "options": Flow({"max-size": "10485760", "max-file": "3"})},
        "labels": _labels(service.labels),
    }
    return {key: value for key, value in keys.items() if value is not None and value != [] and value != {}}


def escaped_keys(keys: Mapping[str, Node]) -> Keys:
    """A mapping with every `$` of its keys and texts doubled, as Compose reads them: a single one begins a variable."""
    return {key.replace("$", "$$"): _escaped(value) for key, value in keys.items()}


def _escaped(node: Node) -> Node:
    match node:
        case str():
            return node.replace("$", "$$")
        case Anchored():
            return Anchored(node.name, _escaped(node.value))
        case Flow():
            return Flow(_escaped(node.value), node.always)
        case Arguments():
            return Arguments(tuple(_escaped(item) for item in node.items))
        case Mapping():
            return escaped_keys(node)
        case list() | tuple():
            return [_escaped(item) for item in node]
    return node


def network_keys(network: Network) -> Keys | None:
    """Of a network without any, nothing: Compose's default reaches the outside."""
    options: Keys = {"driver_opts": Flow(dict(network.options))} if network.options else {}
    return ({"internal": True} if network.internal else {}) | options or None


def volume_keys(name: str, stack: Stack) -> Keys | None:
    """Of a volume on disk, nothing."""
    in_memory = Flow({"type": "tmpfs", "device": "tmpfs", "o": "nosuid,nodev,noexec"})
    return {"driver_opts": in_memory} if name in stack.in_memory else None


def _command(command: tuple[Value, ...], texts: Mapping[str, str]) -> Node:
    items = tuple(Alias(texts[item]) if isinstance(item, str) and item in texts else item for item in command)
    if not items:
        return None
    return Arguments(items) if any(is_flag(item) for item in items) else Flow(items)


def _deploy(device: Device | None) -> Node:
    if device is None:
        return None
    request = Flow({"driver": device.driver, "device_ids": [device.id], "capabilities": ["gpu"]})
    return {"resources": {"reservations": {"devices": [request]}}}


def _awaited(name: str, condition: str, service: Service) -> Node:
    restart: Keys = {"restart": True} if name in service.restarts_with else {}
    return Flow({"condition": condition, **restart})


def _health(health: Health | None) -> Node:
    """Its command is in one line, however long: it is one word after another, not text."""
    if health is None:
        return None
    return {
        "test": Flow(["CMD", *health.command], always=True),
        "interval": "5s",
        "timeout": "5s",
        "retries": health.retries,
        "start_period": f"{health.start_period}s",
    }


def _attachments(places: tuple[Attachment, ...]) -> Node:
    if not any(place.aliases for place in places):
        return Flow([place.network for place in places]) if places else None
    return {place.network: {"aliases": Flow(list(place.aliases))} if place.aliases else None for place in places}


def _labels(labels: tuple[tuple[str, str], ...]) -> Node:
    return Flow(dict(labels)) if 0 < len(labels) <= SHORT else dict(labels)


def _tmpfs(mounts: tuple[Mount, ...]) -> Node:
    found: list[Node] = [f"{mount.target}:{mount.source}" for mount in mounts if mount.kind == "tmpfs"]
    return Flow(found) if found else None


def _port(port: Port) -> Node:
    if _IPV4.fullmatch(port.bind):
        return f"{port.bind}:{port.published}:{port.target}"
    return Flow({"host_ip": port.bind, "published": str(port.published), "target": port.target, "protocol": "tcp"})


def _mount(mount: Mount) -> Node:
    """A folder in the long notation alone: the short one would make the folder where it is missing."""
    if mount.kind == "volume" and _VOLUME.fullmatch(mount.source) and _PATH.fullmatch(mount.target):
        return f"{mount.source}:{mount.target}{':ro' * mount.read_only}"
    keys: Keys = {"type": mount.kind, "source": mount.source, "target": mount.target}
    keys |= {"read_only": True} if mount.read_only else {}
    return Flow(keys | ({"bind": Flow({"create_host_path": False})} if mount.kind == "bind" else {}))
