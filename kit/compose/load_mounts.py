"""Mounts and ports of a compose file, in their long and short notation. Pure."""

from __future__ import annotations

import os.path
from collections.abc import Mapping
from pathlib import Path

from kit.compose.load_fields import boolean, integer, only, size, text
from kit.compose.spec import MountSpec, PortSpec, VolumeSpec
from kit.compose.yaml_node import Node
from kit.errors import TargetError

_LONG_MOUNT = ("type", "source", "target", "read_only", "bind", "volume", "tmpfs")


def mount(node: Node, folder: Path, volumes: Mapping[str, VolumeSpec], variables: Mapping[str, str]) -> MountSpec:
    """`{type: bind, source: ./x, target: /x, read_only: true}` or `./x:/x:ro`. Raises TargetError."""
    kind, source, target, read_only, bytes_ = _short(node) if isinstance(node.value, str) else _long(node)
    if kind == "bind":
        path = _absolute(source, folder, variables)
        return MountSpec(kind, path, target, read_only, written=source)
    if kind == "tmpfs":
        return MountSpec(kind, "", target, read_only, bytes_)
    if source not in volumes:
        raise TargetError(node.problem(f"there is no volume `{source}`", "write it under `volumes:`"))
    return MountSpec(kind, volumes[source].name, target, read_only, written=source)


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


def _absolute(source: str, folder: Path, variables: Mapping[str, str]) -> str:
    home = variables.get("HOME", "/root")
    expanded = home + source[1:] if source.startswith("~") else source
    return os.path.normpath(folder / expanded)


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
    said, _, protocol = text(node).partition("/")
    parts = said.rsplit(":", 2)
    target, published = parts[-1], parts[-2] if len(parts) > 1 else ""
    host = parts[0].strip("[]") if len(parts) == 3 else ""
    if not target.isdecimal() or (published and not published.isdecimal()) or protocol not in ("", "tcp", "udp"):
        raise node.wrong("address:published:target, each port a number")
    return PortSpec(host, published, int(target), protocol or "tcp")
