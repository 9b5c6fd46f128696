"""One service of a compose file -> ServiceSpec, its mounts and ports in their long and short notation. Pure.

`SETTINGS` lists the keys that are passed on to the Engine as they are: how the value is read, and its place in the
Engine's create request.
"""

from __future__ import annotations

import hashlib
import json
import os.path
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from kit.compose import load_fields
from kit.compose.load_fields import Reader, arguments, boolean, integer, only, pairs, size, text, texts
from kit.compose.spec import (
    Dependency,
    MountSpec,
    NetworkSpec,
    NetworkUse,
    PortSpec,
    RequestField,
    ServiceSpec,
    VolumeSpec,
)
from kit.compose.yaml_node import Node, entries, items
from kit.errors import TargetError
from kit.stack.model import Condition

_HOST = "HostConfig"
SETTINGS: dict[str, tuple[Reader, tuple[str, ...]]] = {
    "command": (arguments, ("Cmd",)),
    "entrypoint": (arguments, ("Entrypoint",)),
    "user": (text, ("User",)),
    "working_dir": (text, ("WorkingDir",)),
    "hostname": (text, ("Hostname",)),
    "stop_signal": (text, ("StopSignal",)),
    "stop_grace_period": (load_fields.seconds, ("StopTimeout",)),
    "healthcheck": (load_fields.healthcheck, ("Healthcheck",)),
    "cap_add": (texts, (_HOST, "CapAdd")),
    "cap_drop": (texts, (_HOST, "CapDrop")),
    "cpus": (load_fields.nano_cpus, (_HOST, "NanoCpus")),
    "deploy": (load_fields.devices, (_HOST, "DeviceRequests")),
    "extra_hosts": (load_fields.extra_hosts, (_HOST, "ExtraHosts")),
    "group_add": (texts, (_HOST, "GroupAdd")),
    "init": (boolean, (_HOST, "Init")),
    "ipc": (load_fields.namespace, (_HOST, "IpcMode")),
    "logging": (load_fields.logging, (_HOST, "LogConfig")),
    "mem_limit": (size, (_HOST, "Memory")),
    "oom_score_adj": (integer, (_HOST, "OomScoreAdj")),
    "pid": (load_fields.namespace, (_HOST, "PidMode")),
    "pids_limit": (integer, (_HOST, "PidsLimit")),
    "read_only": (boolean, (_HOST, "ReadonlyRootfs")),
    "restart": (load_fields.restart, (_HOST, "RestartPolicy")),
    "runtime": (text, (_HOST, "Runtime")),
    "security_opt": (texts, (_HOST, "SecurityOpt")),
    "shm_size": (size, (_HOST, "ShmSize")),
    "tmpfs": (load_fields.tmpfs, (_HOST, "Tmpfs")),
    "ulimits": (load_fields.ulimits, (_HOST, "Ulimits")),
}
_STRUCTURE = (
    "image", "container_name", "environment", "labels", "volumes", "network_mode", "networks", "ports", "depends_on",
)  # fmt: skip
_CONDITIONS: tuple[Condition, ...] = get_args(Condition)
_LONG_MOUNT = ("type", "source", "target", "read_only", "bind", "volume", "tmpfs")


@dataclass(frozen=True)
class LoadContext:
    """What a service is read against: its project, the file's folder, the environment, and what it may refer to."""

    project: str
    folder: Path
    variables: Mapping[str, str]
    networks: Mapping[str, NetworkSpec]
    volumes: Mapping[str, VolumeSpec]


def service(name: str, node: Node, context: LoadContext) -> ServiceSpec:
    """The service. Raises TargetError at the line of what cannot be read."""
    found = only(node, *_STRUCTURE, *SETTINGS)
    if "image" not in found:
        raise TargetError(node.problem(f"{name} has no image", "name one; images are built beforehand"))
    environment = tuple(_environment(found.get("environment"), context.variables))
    mounts = tuple(mount(item, context) for item in _listed(found, "volumes"))
    resolved: dict[str, object] = {"environment": list(environment), "volumes": [each.identity for each in mounts]}
    return ServiceSpec(
        name=name,
        image=text(found["image"]),
        container=text(found["container_name"]) if "container_name" in found else f"{context.project}-{name}-1",
        environment=environment,
        labels=tuple((key, value or "") for key, value in _paired(found, "labels")),
        mounts=mounts,
        networks=_networks_of(found, context.networks),
        ports=tuple(port(item) for item in _listed(found, "ports")),
        depends_on=tuple(_dependencies(found.get("depends_on"))),
        settings=tuple(RequestField(path, read(found[key])) for key, (read, path) in SETTINGS.items() if key in found),
        digests=_digests(found, resolved),
    )


def _digests(found: Mapping[str, Node], resolved: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    """The order of starting is left out: it makes no container different."""
    values = {key: resolved.get(key) or found[key].plain for key in sorted(found) if key != "depends_on"}
    printed = {key: json.dumps(value, sort_keys=True) for key, value in values.items()}
    return tuple((key, hashlib.sha256(value.encode()).hexdigest()[:12]) for key, value in printed.items())


def _listed(found: Mapping[str, Node], key: str) -> Iterator[Node]:
    return items(found[key]) if key in found else iter(())


def _paired(found: Mapping[str, Node], key: str) -> list[tuple[str, str | None]]:
    return pairs(found[key]) if key in found else []


def _environment(node: Node | None, variables: Mapping[str, str]) -> Iterator[str]:
    for name, value in pairs(node) if node else ():
        known = variables.get(name) if value is None else value
        yield name if known is None else f"{name}={known}"


def _networks_of(found: Mapping[str, Node], known: Mapping[str, NetworkSpec]) -> tuple[NetworkUse, ...]:
    """The service's networks; () for one that has `network_mode: none`."""
    if "network_mode" not in found:
        return _networks(found.get("networks"), known)
    mode = found["network_mode"]
    if text(mode) != "none":
        raise mode.wrong("none, or take it out and write `networks:`")
    if "networks" in found:
        raise TargetError(mode.problem("there are `networks` too", "write one of the two"))
    return ()


def _networks(node: Node | None, known: Mapping[str, NetworkSpec]) -> tuple[NetworkUse, ...]:
    if node is None:
        return (NetworkUse("default"),)
    if isinstance(node.value, tuple):
        uses = [NetworkUse(text(item)) for item in node.value]
    else:
        uses = [NetworkUse(key, _aliases(item)) for key, item in entries(node)]
    unknown = [use.network for use in uses if use.network not in known]
    if unknown:
        raise TargetError(node.problem(f"there is no network `{unknown[0]}`", "write it under `networks:`"))
    return tuple(sorted(uses, key=lambda use: use.network))


def _aliases(node: Node) -> tuple[str, ...]:
    found = only(node, "aliases") if node.value is not None else {}
    return tuple(texts(found["aliases"])) if "aliases" in found else ()


def _dependencies(node: Node | None) -> Iterator[Dependency]:
    if node and isinstance(node.value, tuple):
        yield from (Dependency(text(item), "service_started") for item in node.value)
        return
    for name, item in entries(node):
        found = only(item, "condition", "restart", "required") if item.value is not None else {}
        restart = "restart" in found and boolean(found["restart"])
        yield Dependency(name, _condition(found["condition"]) if "condition" in found else "service_started", restart)


def _condition(node: Node) -> Condition:
    found = [condition for condition in _CONDITIONS if condition == text(node)]
    if not found:
        raise node.wrong(", ".join(_CONDITIONS))
    return found[0]


def mount(node: Node, context: LoadContext) -> MountSpec:
    """`{type: bind, source: ./x, target: /x, read_only: true}` or `./x:/x:ro`. Raises TargetError."""
    kind, source, target, read_only, bytes_ = _short(node) if isinstance(node.value, str) else _long(node)
    if kind == "bind":
        path = context.variables.get("HOME", "/root") + source[1:] if source.startswith("~") else source
        return MountSpec(kind, os.path.normpath(context.folder / path), target, read_only, written=source)
    if kind == "tmpfs":
        return MountSpec(kind, "", target, read_only, bytes_)
    if source not in context.volumes:
        raise TargetError(node.problem(f"there is no volume `{source}`", "write it under `volumes:`"))
    return MountSpec(kind, context.volumes[source].name, target, read_only, written=source)


def _short(node: Node) -> tuple[str, str, str, bool, int | None]:
    parts = text(node).split(":")
    if len(parts) not in (2, 3) or (len(parts) == 3 and parts[2] not in ("ro", "rw")):
        raise node.wrong("source:target or source:target:ro")
    kind = "bind" if parts[0][:1] in (".", "/", "~") else "volume"
    return kind, parts[0], parts[1], parts[2:] == ["ro"], None


def _long(node: Node) -> tuple[str, str, str, bool, int | None]:
    found = only(node, *_LONG_MOUNT)
    kind = text(found["type"]) if "type" in found else ""
    if kind not in ("bind", "volume", "tmpfs") or "target" not in found or (kind != "tmpfs" and "source" not in found):
        raise node.wrong("type (bind, volume or tmpfs), source and target")
    options = only(found["tmpfs"], "size") if "tmpfs" in found else {}
    _ = only(found["bind"], "create_host_path") if "bind" in found else {}
    _ = only(found["volume"]) if "volume" in found else {}
    read_only = "read_only" in found and boolean(found["read_only"])
    source = text(found["source"]) if "source" in found else ""
    return kind, source, text(found["target"]), read_only, size(options["size"]) if "size" in options else None


def port(node: Node) -> PortSpec:
    """`{target: 80, published: "8080", host_ip: 127.0.0.1}` or `127.0.0.1:8080:80/tcp`. Raises TargetError."""
    if isinstance(node.value, str):
        return _short_port(node)
    found = only(node, "target", "published", "host_ip", "protocol", "mode", "name", "app_protocol")
    if "target" not in found:
        raise node.wrong("a target")
    published = found.get("published")
    if published is not None and not text(published).isdecimal():
        raise published.wrong("one port")
    return PortSpec(
        text(found["host_ip"]) if "host_ip" in found else "",
        text(published) if published is not None else "",
        integer(found["target"]),
        text(found["protocol"]) if "protocol" in found else "tcp",
    )


def _short_port(node: Node) -> PortSpec:
    value, _, protocol = text(node).partition("/")
    parts = value.rsplit(":", 2)
    target, published = parts[-1], parts[-2] if len(parts) > 1 else ""
    host = parts[0].strip("[]") if len(parts) == 3 else ""
    if not target.isdecimal() or (published and not published.isdecimal()) or protocol not in ("", "tcp", "udp"):
        raise node.wrong("address:published:target, each port a number")
    return PortSpec(host, published, int(target), protocol or "tcp")
