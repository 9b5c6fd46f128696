"""Stands in for NVIDIA's module where there is no card: the driver's word on a pretend card, read anew at every
question from the recorded card that PRETEND_GPU_FILE names."""

# ruff: noqa: N802, N816 - the names are NVIDIA's

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

nvmlMemory_v2 = 2


class NVMLError(Exception):
    """What the driver refuses."""


def _card() -> Any:
    return json.loads(Path(os.environ["PRETEND_GPU_FILE"]).read_text(encoding="utf-8"))


def nvmlInit() -> None:
    if "PRETEND_GPU_FILE" not in os.environ:
        raise NVMLError("Driver Not Loaded")


def nvmlShutdown() -> None:
    """Nothing was opened."""


def nvmlDeviceGetHandleByIndex(index: int) -> str:
    return "card"


def nvmlDeviceGetHandleByUUID(uuid: str) -> str:
    return "card"


def nvmlDeviceGetMemoryInfo(card: str, version: int | None = None) -> SimpleNamespace:
    found = _card()
    return SimpleNamespace(total=found["total_bytes"], reserved=0, free=found["free_bytes"])


def nvmlDeviceGetCudaComputeCapability(card: str) -> tuple[int, int]:
    major, minor = _card()["compute_capability"].split(".")
    return int(major), int(minor)


def nvmlDeviceGetName(card: str) -> str:
    return str(_card()["name"])


def nvmlDeviceGetUUID(card: str) -> str:
    return str(_card()["uuid"])


def nvmlDeviceGetIndex(card: str) -> int:
    return 0


def nvmlSystemGetDriverVersion() -> str:
    return str(_card()["driver"])


def nvmlSystemGetProcessName(pid: int) -> str:
    return next(str(each["name"]) for each in _card()["processes"] if each["pid"] == pid)


def nvmlDeviceGetComputeRunningProcesses(card: str) -> list[SimpleNamespace]:
    return [SimpleNamespace(pid=each["pid"], usedGpuMemory=each["bytes"]) for each in _card()["processes"]]


def nvmlDeviceGetGraphicsRunningProcesses(card: str) -> list[SimpleNamespace]:
    return []


def nvmlDeviceGetComputeMode(card: str) -> int:
    return 0
