"""A project as `docker compose config --format json` prints it -> ProjectSpec. Pure.

Compose has read the files by then: anchors, variables, env_file, include, profiles and short notations are resolved.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from kit.compose.config_keys import USE_COMPOSE, refusals
from kit.compose.config_service import service
from kit.compose.spec import NetworkSpec, ProjectSpec, ServiceSpec, VolumeSpec, boot_order
from kit.errors import Problem, TargetError
from kit.stack.labels import ROLE

Config = Mapping[str, Any]

# What the bill of a planned worker says, or rests on.
BILLED = (
    "image", "command", "entrypoint", "deploy", "privileged", "devices", "runtime", "mem_limit",
    "mem_reservation", "memswap_limit", "shm_size", "tmpfs", "ulimits", "oom_kill_disable", "ipc", "ports", "networks",
    "network_mode",
)  # fmt: skip
ODD = (KeyError, ValueError, TypeError, AttributeError)


def parse(printed: str) -> Config:
    """What Compose prints, in which every dollar is doubled."""
    found: Config = json.loads(printed.replace("$$", "$"))
    return found


def without_absent(resolved: str) -> str:
    """A resolved project as YAML, without dependencies on services whose profile is not active: with them Compose does
    not read it again."""
    found = yaml.safe_load(resolved)
    services = found.get("services") or {}
    for one in services.values():
        kept = {name: need for name, need in (one.get("depends_on") or {}).items() if name in services}
        one |= {"depends_on": kept} if "depends_on" in one else {}
    return str(yaml.safe_dump(found))


def project(config: Config, file: Path, files: Sequence[Path] = ()) -> ProjectSpec:
    """The project of `file`, resolved from `files`. Raises TargetError with the path of every key that is not
    translated."""
    try:
        problems = refusals(config)
        if problems:
            raise TargetError(problems)
        return _project(config, file, tuple(files) or (file,))
    except ODD:
        raise TargetError(odd("the project")) from None


def _project(config: Config, file: Path, files: tuple[Path, ...]) -> ProjectSpec:
    name = config["name"] or file.parent.name
    networks = tuple(_network(key, values or {}) for key, values in (config.get("networks") or {}).items())
    volumes = tuple(_volume(key, values or {}) for key, values in (config.get("volumes") or {}).items())
    names = {volume.key: volume.name for volume in volumes}
    services = _services(config.get("services") or {}, name, names)
    used = {use.network for each in services for use in each.networks}
    mounted = {mount.source for each in services for mount in each.mounts if mount.kind == "volume"}
    return ProjectSpec(
        name,
        file,
        services,
        tuple(network for network in networks if network.key in used),
        tuple(volume for volume in volumes if volume.name in mounted),
        files,
    )


def odd(what: str, *path: str) -> Problem:
    """Compose writes something in another form than the releases that are known."""
    return Problem(f"Docker Compose writes {what} in a form that is not known here", USE_COMPOSE, path=path)


def _network(key: str, values: Config) -> NetworkSpec:
    return NetworkSpec(
        **_resource(key, values),
        internal=bool(values.get("internal")),
        attachable=bool(values.get("attachable")),
        ipv6=bool(values.get("enable_ipv6")),
    )


def _volume(key: str, values: Config) -> VolumeSpec:
    return VolumeSpec(**_resource(key, values))


def _resource(key: str, values: Config) -> dict[str, Any]:
    options = {option: str(value) for option, value in (values.get("driver_opts") or {}).items()}
    return {
        "key": key,
        "name": values.get("name") or key,
        "external": bool(values.get("external")),
        "options": tuple(sorted(options.items())),
        "labels": tuple((values.get("labels") or {}).items()),
    }


def _services(found: Config, project: str, volumes: Mapping[str, str]) -> tuple[ServiceSpec, ...]:
    """In boot order. A dependency that need not be there, and is not, counts for nothing."""
    problems: list[Problem] = []
    made: dict[str, ServiceSpec] = {}
    for name, values in found.items():
        try:
            made[name] = service(name, values, project, volumes)
        except ODD:
            problems.append(odd(name, "services", name))
    if problems or not made:
        raise TargetError(problems or Problem("there are no services", "name one under `services:`"))
    kept = {
        name: replace(one, depends_on=tuple(need for need in one.depends_on if need.service in made))
        for name, one in made.items()
    }
    needs = {name: [need.service for need in one.depends_on] for name, one in kept.items()}
    return tuple(kept[name] for name in boot_order(kept, needs))


def not_as_billed(printed: Config, merged: Config) -> dict[str, tuple[str, ...]]:
    """Planned worker -> the keys that its bill rests on, and that other files change from what the printed file alone
    says; `services` where they leave it out."""
    after = merged.get("services") or {}
    found = {
        name: tuple(key for key in BILLED if before.get(key) != after.get(name, {}).get(key))
        for name, before in (printed.get("services") or {}).items()
        if (before.get("labels") or {}).get(ROLE) == "worker"
    }
    return {name: keys if name in after else ("services",) for name, keys in found.items() if keys}
