"""One service of a project as Docker Compose has resolved it -> ServiceSpec. Pure.

The keys of SETTINGS become one value of the Engine's create request each. The rest has a structure of its own: mounts,
networks, ports, dependencies.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from kit.compose.config_settings import SETTINGS, Values, size
from kit.compose.spec import Dependency, MountSpec, NetworkUse, PortSpec, RequestField, ServiceSpec

ADDRESSES = ("ipv4_address", "ipv6_address", "link_local_ips", "mac_address")


def service(name: str, values: Values, project: str, volumes: Mapping[str, str]) -> ServiceSpec:
    """The service; `volumes` maps the file's keys to Docker's names. Raises ValueError, TypeError, KeyError or
    AttributeError for a value whose form is unknown."""
    given: Values = values.get("environment") or {}
    settings = dict(_settings(values))
    made = ServiceSpec(
        name=name,
        image=values["image"],
        container=values.get("container_name") or f"{project}-{name}-1",
        environment=tuple(key if value is None else f"{key}={value}" for key, value in given.items()),
        labels=tuple((values.get("labels") or {}).items()),
        mounts=tuple(_mount(item, volumes) for item in values.get("volumes") or ()),
        networks=_networks(values),
        network_mode=values.get("network_mode") or "",
        exposed=tuple(port if "/" in port else f"{port}/tcp" for port in values.get("expose") or ()),
        ports=tuple(_port(item) for item in values.get("ports") or ()),
        depends_on=tuple(_dependencies(values.get("depends_on") or {})),
        settings=tuple({field.path: field for field in settings.values()}.values()),
    )
    return replace(made, digests=_digests(made, settings))


def _settings(values: Values) -> Iterator[tuple[str, RequestField]]:
    """By key. One of `deploy` comes before the service's own one, which overrules it, as with Compose."""
    for key in sorted(SETTINGS, key=lambda key: not key.startswith("deploy.")):
        read, path = SETTINGS[key]
        value: Any = values
        for step in key.split("."):
            value = (value or {}).get(step)
        if value is not None and (value not in ([], {}) or path[0] in ("Cmd", "Entrypoint")):
            yield key, RequestField(path, read(value))


def _digests(made: ServiceSpec, settings: Mapping[str, RequestField]) -> tuple[tuple[str, str], ...]:
    """A short hash for each of the file's keys, of its value and not of its notation."""
    found: dict[str, list[Any]] = {
        "image": [made.image],
        "container_name": [made.container],
        "environment": sorted(made.environment),
        "labels": sorted(made.labels),
        "volumes": [mount.identity for mount in made.mounts],
        "networks": [[use.network, use.aliases, use.fixed] for use in made.networks],
        "network_mode": [made.network_mode] if made.network_mode else [],
        "expose": list(made.exposed),
        "ports": [list(vars(port).values()) for port in made.ports],
    }
    for key, field in settings.items():
        found.setdefault(key.partition(".")[0], []).append([field.path, field.value])
    printed = {key: json.dumps(value, sort_keys=True) for key, value in sorted(found.items()) if value}
    return tuple((key, hashlib.sha256(value.encode()).hexdigest()[:12]) for key, value in printed.items())


def _networks(values: Values) -> tuple[NetworkUse, ...]:
    """In the order in which Compose joins them: by priority, then by name."""
    found = {key: use or {} for key, use in (values.get("networks") or {}).items()}
    order = sorted(found, key=lambda key: (-int(found[key].get("priority") or 0), key))
    return tuple(
        NetworkUse(
            key,
            tuple(found[key].get("aliases") or ()),
            tuple((kind, found[key][kind]) for kind in ADDRESSES if found[key].get(kind)),
        )
        for key in order
    )


def _dependencies(needs: Values) -> Iterator[Dependency]:
    for name, need in needs.items():
        yield Dependency(
            name, need["condition"], bool(need.get("restart")), required=need.get("required", True) is not False
        )


def _mount(item: Values, volumes: Mapping[str, str]) -> MountSpec:
    kind, source = item["type"], item.get("source") or ""
    options: Values = item.get(kind) or {}
    return MountSpec(
        kind,
        volumes[source] if kind == "volume" else source,
        item["target"],
        bool(item.get("read_only")),
        size(options["size"]) if kind == "tmpfs" and "size" in options else None,
        create=kind == "bind" and bool(options.get("create_host_path")),
        options=tuple(sorted((key, options[key]) for key in ("mode", "nocopy", "propagation") if options.get(key))),
    )


def _port(item: Values) -> PortSpec:
    return PortSpec(
        item.get("host_ip") or "", item.get("published") or "", int(item["target"]), item.get("protocol") or "tcp"
    )
