"""What a printed compose file must say, stated from the Stack and apart from the template: the data that a YAML reader
finds once it has merged the blocks, with `$` still doubled and secrets still `${NAME:?why}`."""

from __future__ import annotations

import re
from typing import Any

import yaml

from kit.stack.model import Mount, Network, Secret, Service, Stack


def read(text: str) -> dict[str, Any]:
    """A printed file as PyYAML reads it, without the blocks that it merges."""
    document = yaml.safe_load(text)
    return {key: value for key, value in document.items() if not key.startswith("x-")}


def said(stack: Stack) -> dict[str, Any]:
    """The whole document."""
    document: dict[str, Any] = {
        "name": dollars(stack.project),
        "services": {service.name: _service(service) for service in stack.services},
        "networks": {network.name: _network(network) for network in stack.networks},
    }
    in_memory = {"driver_opts": {"type": "tmpfs", "device": "tmpfs", "o": "nosuid,nodev,noexec"}}
    volumes = {name: in_memory if name in stack.in_memory else None for name in stack.volumes}
    return document | ({"volumes": volumes} if volumes else {})


def dollars(value: str | Secret) -> str:
    """A value as Compose wants it before it replaces variables."""
    if isinstance(value, Secret):
        return f"${{{value.name}:?{value.why}}}" if value.required else f"${{{value.name}:-}}"
    return value.replace("$", "$$")


def _service(service: Service) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "image": dollars(service.image),
        "entrypoint": None if service.entrypoint is None else [dollars(item) for item in service.entrypoint],
        "command": [dollars(item) for item in service.command],
        "environment": {name: dollars(value) for name, value in service.environment},
        "deploy": _deploy(service),
        "depends_on": {
            name: {"condition": condition} | ({"restart": True} if name in service.restarts_with else {})
            for name, condition in service.depends_on
        },
        "healthcheck": _health(service),
        "network_mode": None if service.networks else "none",
        "networks": _attachments(service),
        "ports": [
            {"host_ip": p.bind, "published": str(p.published), "target": p.target, "protocol": "tcp"}
            if ":" in p.bind
            else f"{p.bind}:{p.published}:{p.target}"
            for p in service.ports
        ],
        "volumes": [_mount(mount) for mount in service.mounts if mount.kind != "tmpfs"],
        "tmpfs": [f"{mount.target}:{mount.source}" for mount in service.mounts if mount.kind == "tmpfs"],
        "shm_size": service.shm_bytes,
        "user": service.user,
        "read_only": service.read_only,
        "init": True,
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
        "restart": service.restart,
        "stop_grace_period": f"{service.stop_grace}s",
        "logging": {"driver": "json-file", "options": {"max-size": "10485760", "max-file": "3"}},
        "labels": {name: dollars(value) for name, value in service.labels},
    }
    return {key: value for key, value in fields.items() if value not in (None, False, [], {})}


def _deploy(service: Service) -> dict[str, Any] | None:
    if service.device is None:
        return None
    request = {"driver": service.device.driver, "device_ids": [service.device.id], "capabilities": ["gpu"]}
    return {"resources": {"reservations": {"devices": [request]}}}


def _health(service: Service) -> dict[str, Any] | None:
    health = service.health
    if health is None:
        return None
    return {
        "test": ["CMD", *(dollars(item) for item in health.command)],
        "interval": "5s",
        "timeout": "5s",
        "retries": health.retries,
        "start_period": f"{health.start_period}s",
    }


def _attachments(service: Service) -> Any:
    named = {p.network: {"aliases": list(p.aliases)} if p.aliases else None for p in service.networks}
    return named if any(named.values()) else list(named)


def _mount(mount: Mount) -> Any:
    """A volume in the short notation, unless a character in it would say something else there."""
    if mount.kind == "volume" and not re.search(r"[^A-Za-z0-9_./-]", mount.target):
        return f"{mount.source}:{mount.target}" + (":ro" if mount.read_only else "")
    fields: dict[str, Any] = {"type": mount.kind, "source": dollars(mount.source), "target": dollars(mount.target)}
    fields |= {"read_only": True} if mount.read_only else {}
    return fields | ({"bind": {"create_host_path": False}} if mount.kind == "bind" else {})


def _network(network: Network) -> dict[str, Any] | None:
    options = {"driver_opts": dict(network.options)} if network.options else {}
    return ({"internal": True} if network.internal else {}) | options or None
