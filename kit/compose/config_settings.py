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
        written = [
            {key.lower(): item for key, item in one.items()} for one in value
        ]  # Compose writes them as Path, Rate
        return [{"Path": one["path"], unit.title(): size(one[unit])} for one in written]

    return read


SETTINGS: Mapping[str, tuple[Callable[[Any], Json], tuple[str, ...]]] = {
    "command": (_as_is, ("Cmd",)),
    "domainname": (_as_is, ("Domainname",)),
    "entrypoint": (_as_is, ("Entrypoint",)),
    "healthcheck": (_healthcheck, ("Healthcheck",)),
    "hostname": (_as_is, ("Hostname",)),
    "stdin_open": (_as_is, ("OpenStdin",)),
    "stop_grace_period": (_seconds, ("StopTimeout",)),
    "stop_signal": (_as_is, ("StopSignal",)),
    "tty": (_as_is, ("Tty",)),
    "user": (_as_is, ("User",)),
    "working_dir": (_as_is, ("WorkingDir",)),
    "annotations": (_as_is, (_HOST, "Annotations")),
    "blkio_config.weight": (_as_is, (_HOST, "BlkioWeight")),
    "blkio_config.weight_device": (_throttle("weight"), (_HOST, "BlkioWeightDevice")),
    "blkio_config.device_read_bps": (_throttle("rate"), (_HOST, "BlkioDeviceReadBps")),
    "blkio_config.device_read_iops": (_throttle("rate"), (_HOST, "BlkioDeviceReadIOps")),
    "blkio_config.device_write_bps": (_throttle("rate"), (_HOST, "BlkioDeviceWriteBps")),
    "blkio_config.device_write_iops": (_throttle("rate"), (_HOST, "BlkioDeviceWriteIOps")),
    "cap_add": (_as_is, (_HOST, "CapAdd")),
    "cap_drop": (_as_is, (_HOST, "CapDrop")),
    "cgroup": (_as_is, (_HOST, "CgroupnsMode")),
    "cgroup_parent": (_as_is, (_HOST, "CgroupParent")),
    "cpu_count": (int, (_HOST, "CpuCount")),
    "cpu_percent": (lambda value: int(float(value) * 100), (_HOST, "CpuPercent")),
    "cpu_period": (int, (_HOST, "CpuPeriod")),
    "cpu_quota": (int, (_HOST, "CpuQuota")),
    "cpu_rt_period": (int, (_HOST, "CpuRealtimePeriod")),
    "cpu_rt_runtime": (int, (_HOST, "CpuRealtimeRuntime")),
    "cpu_shares": (int, (_HOST, "CpuShares")),
    "cpus": (_cpus, (_HOST, "NanoCpus")),
    "cpuset": (_as_is, (_HOST, "CpusetCpus")),
    "deploy.restart_policy": (_restart_policy, (_HOST, "RestartPolicy")),
    "deploy.resources.limits.cpus": (_cpus, (_HOST, "NanoCpus")),
    "deploy.resources.limits.memory": (size, (_HOST, "Memory")),
    "deploy.resources.limits.pids": (int, (_HOST, "PidsLimit")),
    "deploy.resources.reservations.memory": (size, (_HOST, "MemoryReservation")),
    "deploy.resources.reservations.devices": (_requests, (_HOST, "DeviceRequests")),
    "device_cgroup_rules": (_as_is, (_HOST, "DeviceCgroupRules")),
    "devices": (_devices, (_HOST, "Devices")),
    "dns": (_as_is, (_HOST, "Dns")),
    "dns_opt": (_as_is, (_HOST, "DnsOptions")),
    "dns_search": (_as_is, (_HOST, "DnsSearch")),
    "extra_hosts": (_extra_hosts, (_HOST, "ExtraHosts")),
    "group_add": (_as_is, (_HOST, "GroupAdd")),
    "init": (_as_is, (_HOST, "Init")),
    "ipc": (_as_is, (_HOST, "IpcMode")),
    "isolation": (_as_is, (_HOST, "Isolation")),
    "logging": (_logging, (_HOST, "LogConfig")),
    "mem_limit": (size, (_HOST, "Memory")),
    "mem_reservation": (size, (_HOST, "MemoryReservation")),
    "mem_swappiness": (int, (_HOST, "MemorySwappiness")),
    "memswap_limit": (size, (_HOST, "MemorySwap")),
    "oom_kill_disable": (_as_is, (_HOST, "OomKillDisable")),
    "oom_score_adj": (int, (_HOST, "OomScoreAdj")),
    "pid": (_as_is, (_HOST, "PidMode")),
    "pids_limit": (int, (_HOST, "PidsLimit")),
    "privileged": (_as_is, (_HOST, "Privileged")),
    "read_only": (_as_is, (_HOST, "ReadonlyRootfs")),
    "restart": (_restart, (_HOST, "RestartPolicy")),
    "runtime": (_as_is, (_HOST, "Runtime")),
    "security_opt": (_as_is, (_HOST, "SecurityOpt")),
    "shm_size": (size, (_HOST, "ShmSize")),
    "storage_opt": (_as_is, (_HOST, "StorageOpt")),
    "sysctls": (_as_is, (_HOST, "Sysctls")),
    "tmpfs": (_tmpfs, (_HOST, "Tmpfs")),
    "ulimits": (_ulimits, (_HOST, "Ulimits")),
    "userns_mode": (_as_is, (_HOST, "UsernsMode")),
    "uts": (_as_is, (_HOST, "UTSMode")),
}
