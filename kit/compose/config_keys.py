"""Every key of Docker Compose's schema: translated for the Engine, or refused by its path. Pure.

What `up` would leave out is never passed over: it would start something else than `docker compose up`. `KEYS` says
what may stand where (`*` is any name or index), `REFUSED` what to do instead of the rest, `VALUES` which values alone
are translated. A key that is in none of them is of a newer schema, and refused as well.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from kit.errors import KeyPath, Problem, dotted

OLDEST_COMPOSE = (2, 20)  # which has `include`, and `required` for dependencies
USE_COMPOSE = "take it out, or use `docker compose up` for this file"

# Read by Compose before the kit sees them, or without a part in what `docker compose create` makes.
_NO_PART = "attach develop env_file extends label_file profiles pull_policy scale"
_IN_CONTAINER = (
    "command dns dns_opt dns_search domainname entrypoint environment expose extra_hosts healthcheck hostname image "
    "labels network_mode networks ports stdin_open stop_grace_period stop_signal tmpfs tty user volumes working_dir"
)
_LIMITS = (
    "annotations blkio_config cap_add cap_drop cgroup cgroup_parent cpu_count cpu_percent cpu_period cpu_quota "
    "cpu_rt_period cpu_rt_runtime cpu_shares cpus cpuset deploy device_cgroup_rules devices group_add init ipc "
    "isolation logging mem_limit mem_reservation mem_swappiness memswap_limit oom_kill_disable oom_score_adj pid "
    "pids_limit privileged read_only restart runtime security_opt shm_size storage_opt sysctls ulimits userns_mode uts"
)
KEYS: Mapping[str, frozenset[str]] = {
    path: frozenset(keys.split())
    for path, keys in {
        "": "name version services networks volumes secrets configs",
        "services.*": f"container_name depends_on {_IN_CONTAINER} {_LIMITS} {_NO_PART}",
        "services.*.blkio_config": "weight weight_device device_read_bps device_read_iops device_write_bps "
        "device_write_iops",
        "services.*.depends_on.*": "condition required restart",
        "services.*.deploy": "endpoint_mode labels mode placement replicas resources restart_policy rollback_config "
        "update_config",
        "services.*.deploy.resources": "limits reservations",
        "services.*.deploy.resources.limits": "cpus memory pids",
        "services.*.deploy.resources.reservations": "cpus devices generic_resources memory",
        "services.*.deploy.resources.reservations.devices.*": "capabilities count device_ids driver",
        "services.*.deploy.restart_policy": "condition delay max_attempts window",
        "services.*.devices.*": "source target permissions",
        "services.*.healthcheck": "disable interval retries start_interval start_period test timeout",
        "services.*.logging": "driver options",
        "services.*.networks.*": "aliases ipv4_address ipv6_address link_local_ips mac_address priority",
        "services.*.ports.*": "app_protocol host_ip mode name protocol published target",
        "services.*.ulimits.*": "hard soft",
        "services.*.volumes.*": "bind consistency read_only source target tmpfs type volume",
        "services.*.volumes.*.bind": "create_host_path propagation",
        "services.*.volumes.*.volume": "nocopy",
        "services.*.volumes.*.tmpfs": "mode size",
        "networks.*": "attachable driver driver_opts enable_ipv6 external internal ipam labels name",
        "networks.*.ipam": "",
        "volumes.*": "driver driver_opts external labels name",
    }.items()
}
REFUSED: Mapping[str, str] = {
    "services.*.build": "build the image beforehand, and name it with `image`",
    "services.*.configs": "mount the file: `volumes`",
    "services.*.credential_spec": USE_COMPOSE,
    "services.*.external_links": "put both on one network",
    "services.*.gpus": "write `deploy: {resources: {reservations: {devices: [...]}}}`",
    "services.*.deploy.resources.reservations.devices.*.options": USE_COMPOSE,
    "services.*.links": "put both on one network, with `aliases`",
    "services.*.mac_address": "write it under the service's `networks`",
    "services.*.models": USE_COMPOSE,
    "services.*.platform": "pull the image beforehand",
    "services.*.post_start": USE_COMPOSE,
    "services.*.pre_stop": USE_COMPOSE,
    "services.*.provider": USE_COMPOSE,
    "services.*.secrets": "mount the file: `volumes`",
    "services.*.use_api_socket": USE_COMPOSE,
    "services.*.volumes_from": "mount one volume in both services",
    "services.*.networks.*.driver_opts": USE_COMPOSE,
    "services.*.networks.*.gw_priority": USE_COMPOSE,
    "services.*.volumes.*.bind.recursive": USE_COMPOSE,
    "services.*.volumes.*.bind.selinux": "label the folder beforehand: `chcon -Rt container_file_t`",
    "services.*.volumes.*.volume.subpath": USE_COMPOSE,
    "networks.*.enable_ipv4": USE_COMPOSE,
    "networks.*.ipam.config": "make it beforehand: `docker network create --subnet`, and `external: true` here",
    "networks.*.ipam.driver": USE_COMPOSE,
    "networks.*.ipam.options": USE_COMPOSE,
    "models": USE_COMPOSE,
}

Check = Callable[[Any], bool]
_WINDOWS = re.compile(r"[A-Za-z]:/|.*\\")
_OTHERS = re.compile(r"(service|container):")


def _one(value: Any) -> bool:
    return bool(value == 1)


def _namespace(value: Any) -> bool:
    return not _OTHERS.match(str(value))


def _security(value: Any) -> bool:
    return not re.match(r"seccomp[=:](?!unconfined)|systempaths[=:]unconfined", str(value))


def _mount(value: Any) -> bool:
    return bool(value.get("source")) or value.get("type") == "tmpfs"


VALUES: Mapping[str, tuple[Check, str]] = {
    "services.*.scale": (_one, "write 1; models have `replicas` in the manifest"),
    "services.*.deploy.replicas": (_one, "write 1; models have `replicas` in the manifest"),
    "services.*.pull_policy": (lambda value: value in ("missing", "if_not_present"), "write missing, or pull it"),
    "services.*.network_mode": (lambda value: value in ("none", "host", "bridge"), "write none, host or bridge"),
    "services.*.ipc": (_namespace, "write host, or mount one volume in both services"),
    "services.*.pid": (_namespace, "write host, or mount one volume in both services"),
    "services.*.security_opt.*": (_security, USE_COMPOSE),
    "services.*.ports.*.published": (lambda value: str(value).isdecimal(), "write one port"),
    "services.*.volumes.*": (_mount, "give the volume a name: an anonymous one is lost when its container is replaced"),
    "services.*.volumes.*.type": (lambda value: value in ("bind", "volume", "tmpfs"), "write bind, volume or tmpfs"),
    "services.*.volumes.*.source": (
        lambda value: not _WINDOWS.match(str(value)),
        "write it as WSL2 has it: /mnt/c/Users/me for C:\\Users\\me",
    ),
    "networks.*.driver": (lambda value: value == "bridge", "write bridge"),
    "networks.*.name": (lambda value: value not in ("bridge", "host", "none"), "write `network_mode`"),
    "volumes.*.driver": (lambda value: value == "local", "write local"),
}


def refusals(config: Mapping[str, Any]) -> tuple[Problem, ...]:
    """What of a project as Compose has resolved it is not translated, all at once."""
    return tuple(_refusals(config, (), ""))


def _refusals(value: Any, path: KeyPath, pattern: str) -> Iterator[Problem]:
    if value is None or value == [] or value == {}:
        return
    if pattern in VALUES and not VALUES[pattern][0](value):
        shown = "this" if isinstance(value, Mapping) else "its value"
        yield Problem(f"`up` does not translate {shown}", VALUES[pattern][1], path=path)
    for step, item in _items(value):
        known, free = KEYS.get(pattern), _child(pattern, "*")
        place = free if _leads(free) else _child(pattern, str(step))
        if known is None or step in known:
            yield from _refusals(item, (*path, step), place) if _leads(place) else ()
        elif not str(step).startswith("x-") and item is not None and item != [] and item != {}:
            needed = REFUSED.get(_child(pattern, str(step)), USE_COMPOSE)
            yield Problem(f"`up` does not translate `{dotted((step,))}`", needed, path=(*path, step))


def _items(value: Any) -> Iterator[tuple[str | int, Any]]:
    if isinstance(value, Mapping):
        yield from value.items()
    elif isinstance(value, Sequence) and not isinstance(value, str):
        yield from enumerate(value)


def _child(pattern: str, step: str) -> str:
    return f"{pattern}.{step}" if pattern else step


def _leads(pattern: str) -> bool:
    """Whether the tables say anything of this place, or of one inside."""
    return any(known == pattern or known.startswith(f"{pattern}.") for known in (*KEYS, *VALUES))
