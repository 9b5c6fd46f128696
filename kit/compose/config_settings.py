"""The keys of a service that become one value of the Engine's create request: how it is made, and its place. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from kit.compose.spec import Json

Values = Mapping[str, Any]
_HOST = "HostConfig"
_UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_SPAN = re.compile(r"(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)")
_NANOSECONDS = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_CHECKS = {
    "test": "Test",
    "interval": "Interval",
    "timeout": "Timeout",
    "start_period": "StartPeriod",
    "start_interval": "StartInterval",
    "retries": "Retries",
}


def size(value: Any) -> int:
    """Bytes: 1073741824, "64m". k is 1024, as Compose counts."""
    found = re.fullmatch(r"(-?\d+)\s*([bkmgt]?)(?:i?b)?", str(value).strip().lower())
    if not found:
        raise ValueError(value)
    return int(found[1]) * _UNITS[found[2]]


def nanoseconds(value: Any) -> int:
    """A span such as 30s, 1m30s, 500ms, as the Engine takes it."""
    spans = _SPAN.findall(str(value))
    if "".join(number + unit for number, unit in spans) != value:
        raise ValueError(value)
    return sum(round(float(number) * _NANOSECONDS[unit]) for number, unit in spans)


def _seconds(value: Any) -> int:
    return -(-nanoseconds(value) // 10**9)


def _cpus(value: Any) -> int:
    return round(float(value) * 10**9)


def _as_is(value: Json) -> Json:
    return value


def _restart(value: str) -> Json:
    name, _, count = value.partition(":")
    return {"Name": name, "MaximumRetryCount": int(count or 0)}


def _restart_policy(value: Values) -> Json:
    name = {"none": "no", "on-failure": "on-failure", "any": "always"}.get(value.get("condition", "any"), "always")
    return {"Name": name, "MaximumRetryCount": int(value.get("max_attempts") or 0)}


def _ulimits(value: Values) -> Json:
    both = {name: one if isinstance(one, Mapping) else {"soft": one, "hard": one} for name, one in value.items()}
    return [
        {"Name": name, "Soft": one.get("soft", 0), "Hard": one.get("hard", 0)} for name, one in sorted(both.items())
    ]


def _logging(value: Values) -> Json:
    return {"Type": value.get("driver", ""), "Config": dict(value.get("options") or {})}


def _tmpfs(value: list[str]) -> Json:
    return {path: options for path, _, options in (item.partition(":") for item in value)}


def _healthcheck(value: Values) -> Json:
    if value.get("disable"):
        return {"Test": ["NONE"]}
    as_it_is = ("test", "retries")
    return {_CHECKS[key]: item if key in as_it_is else nanoseconds(item) for key, item in value.items()}


def _extra_hosts(value: list[str]) -> Json:
    return [item.replace("=", ":", 1) for item in value]


def _devices(value: list[Any]) -> Json:
    return [
        {
            "PathOnHost": one["source"],
            "PathInContainer": one.get("target") or one["source"],
            "CgroupPermissions": one.get("permissions") or "",
        }
        for one in value
    ]


def _requests(value: list[Values]) -> Json:
    """`devices` of `deploy` as the Engine's DeviceRequests."""
    return [
        {
            "Driver": one.get("driver", ""),
            "Count": int(one.get("count", 0)),
            "Capabilities": [list(one.get("capabilities", ()))],
            **({"DeviceIDs": one["device_ids"]} if "device_ids" in one else {}),
        }
        for one in value
    ]


def _throttle(unit: str) -> Callable[[list[Values]], Json]:
    def read(value: list[Values]) -> Json:
        written = [{key.title(): item for key, item in one.items()} for one in value]  # Compose has Path, Rate
        return [{"Path": one["Path"], unit: size(one[unit])} for one in written]

    return read


# Keys whose value is taken as it is, of the container and of its host, and those with a number.
_CONTAINER = {
    "command": "Cmd", "domainname": "Domainname", "entrypoint": "Entrypoint", "hostname": "Hostname",
    "stdin_open": "OpenStdin", "stop_signal": "StopSignal", "tty": "Tty", "user": "User",
    "working_dir": "WorkingDir",
}  # fmt: skip
_AS_IS = {
    "annotations": "Annotations", "blkio_config.weight": "BlkioWeight", "cap_add": "CapAdd", "cap_drop": "CapDrop",
    "cgroup": "CgroupnsMode", "cgroup_parent": "CgroupParent", "cpuset": "CpusetCpus",
    "device_cgroup_rules": "DeviceCgroupRules", "dns": "Dns", "dns_opt": "DnsOptions", "dns_search": "DnsSearch",
    "group_add": "GroupAdd", "init": "Init", "ipc": "IpcMode", "isolation": "Isolation",
    "oom_kill_disable": "OomKillDisable", "pid": "PidMode", "privileged": "Privileged",
    "read_only": "ReadonlyRootfs", "runtime": "Runtime", "security_opt": "SecurityOpt", "storage_opt": "StorageOpt",
    "sysctls": "Sysctls", "userns_mode": "UsernsMode", "uts": "UTSMode",
}  # fmt: skip
_NUMBERS = {
    "cpu_count": "CpuCount", "cpu_period": "CpuPeriod", "cpu_quota": "CpuQuota",
    "cpu_rt_period": "CpuRealtimePeriod", "cpu_rt_runtime": "CpuRealtimeRuntime", "cpu_shares": "CpuShares",
    "deploy.resources.limits.pids": "PidsLimit", "mem_swappiness": "MemorySwappiness",
    "oom_score_adj": "OomScoreAdj", "pids_limit": "PidsLimit",
}  # fmt: skip
SETTINGS: Mapping[str, tuple[Callable[[Any], Json], tuple[str, ...]]] = {
    **{key: (_as_is, (name,)) for key, name in _CONTAINER.items()},
    **{key: (_as_is, (_HOST, name)) for key, name in _AS_IS.items()},
    **{key: (int, (_HOST, name)) for key, name in _NUMBERS.items()},
    "healthcheck": (_healthcheck, ("Healthcheck",)),
    "stop_grace_period": (_seconds, ("StopTimeout",)),
    "blkio_config.weight_device": (_throttle("Weight"), (_HOST, "BlkioWeightDevice")),
    "blkio_config.device_read_bps": (_throttle("Rate"), (_HOST, "BlkioDeviceReadBps")),
    "blkio_config.device_read_iops": (_throttle("Rate"), (_HOST, "BlkioDeviceReadIOps")),
    "blkio_config.device_write_bps": (_throttle("Rate"), (_HOST, "BlkioDeviceWriteBps")),
    "blkio_config.device_write_iops": (_throttle("Rate"), (_HOST, "BlkioDeviceWriteIOps")),
    "cpu_percent": (lambda value: int(float(value) * 100), (_HOST, "CpuPercent")),
    "cpus": (_cpus, (_HOST, "NanoCpus")),
    "deploy.restart_policy": (_restart_policy, (_HOST, "RestartPolicy")),
    "deploy.resources.limits.cpus": (_cpus, (_HOST, "NanoCpus")),
    "deploy.resources.limits.memory": (size, (_HOST, "Memory")),
    "deploy.resources.reservations.memory": (size, (_HOST, "MemoryReservation")),
    "deploy.resources.reservations.devices": (_requests, (_HOST, "DeviceRequests")),
    "devices": (_devices, (_HOST, "Devices")),
    "extra_hosts": (_extra_hosts, (_HOST, "ExtraHosts")),
    "logging": (_logging, (_HOST, "LogConfig")),
    "mem_limit": (size, (_HOST, "Memory")),
    "mem_reservation": (size, (_HOST, "MemoryReservation")),
    "memswap_limit": (size, (_HOST, "MemorySwap")),
    "restart": (_restart, (_HOST, "RestartPolicy")),
    "shm_size": (size, (_HOST, "ShmSize")),
    "tmpfs": (_tmpfs, (_HOST, "Tmpfs")),
    "ulimits": (_ulimits, (_HOST, "Ulimits")),
}
