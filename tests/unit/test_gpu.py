"""Cards asked from a driver that is a plain object, recorded, or given as a size."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from kit.gpu import GpuError, Process, ask_driver, compute_mode, from_json, from_size, on_windows, record
from kit.units import GIB


class NvmlError(Exception):
    """pynvml.NVMLError."""


def nvml(**more: Any) -> Any:
    """A driver with one card, GPU-1."""
    memory = SimpleNamespace(total=16 * GIB, reserved=GIB // 2, free=10 * GIB)

    def handle(which: object) -> str:
        if which not in (0, "GPU-1"):
            raise NvmlError("Invalid Argument")
        return "card"

    return SimpleNamespace(
        **{
            "NVMLError": NvmlError,
            "nvmlMemory_v2": 2,
            "nvmlInit": lambda: None,
            "nvmlShutdown": lambda: None,
            "nvmlDeviceGetHandleByIndex": handle,
            "nvmlDeviceGetHandleByUUID": handle,
            "nvmlDeviceGetMemoryInfo": lambda card, version=None: memory,
            "nvmlDeviceGetCudaComputeCapability": lambda card: (12, 0),
            "nvmlDeviceGetName": lambda card: b"NVIDIA GeForce RTX 5080",
            "nvmlDeviceGetUUID": lambda card: "GPU-1",
            "nvmlDeviceGetIndex": lambda card: 0,
            "nvmlSystemGetDriverVersion": lambda: "580.95",
            "nvmlSystemGetProcessName": lambda pid: f"/usr/bin/program-{pid}",
            "nvmlDeviceGetComputeRunningProcesses": lambda card: [SimpleNamespace(pid=7, usedGpuMemory=GIB)],
            "nvmlDeviceGetGraphicsRunningProcesses": lambda card: [SimpleNamespace(pid=9, usedGpuMemory=None)],
            "nvmlDeviceGetComputeMode": lambda card: 0,
            **more,
        }
    )


def failing(*args: object) -> Any:
    raise NvmlError("Not Supported")


@pytest.mark.parametrize("device", ["0", "GPU-1"])
def test_a_card_is_asked_by_index_or_uuid(device: str) -> None:
    card = ask_driver(device, nvml())
    assert (card.name, card.uuid, card.compute_capability, card.driver) == (
        "NVIDIA GeForce RTX 5080", "GPU-1", "12.0", "580.95",
    )  # fmt: skip
    assert (card.total_bytes, card.free_bytes) == (16 * GIB - GIB // 2, 10 * GIB)
    assert card.processes == (Process(7, "program-7", GIB), Process(9, "program-9", 0))


def test_what_the_driver_hides_stays_unknown() -> None:
    hiding = nvml(nvmlSystemGetProcessName=failing, nvmlDeviceGetGraphicsRunningProcesses=failing)
    assert ask_driver("0", hiding).processes == (Process(7, "unknown", GIB),)


def test_no_driver_and_no_such_card_are_said_in_words() -> None:
    with pytest.raises(GpuError, match="no NVIDIA driver on this machine"):
        ask_driver("0", nvml(nvmlInit=failing))
    with pytest.raises(GpuError, match=r"`nvidia-smi -L` lists the cards"):
        ask_driver("1", nvml())


@pytest.mark.parametrize(
    ("mode", "word"), [(0, "default"), (1, "exclusive_process"), (2, "prohibited"), (3, "exclusive_process"), (9, None)]
)
def test_who_may_use_the_card_at_once(mode: int, word: str | None) -> None:
    assert compute_mode("0", nvml(nvmlDeviceGetComputeMode=lambda card: mode)) == word


@pytest.mark.parametrize("broken", ["nvmlInit", "nvmlDeviceGetComputeMode"])
def test_a_compute_mode_that_nobody_tells_is_unknown(broken: str) -> None:
    assert compute_mode("0", nvml(**{broken: failing})) is None


def test_a_size_is_a_card_of_which_the_rest_is_assumed() -> None:
    card = from_size("16GiB")
    assert (card.total_bytes, card.free_bytes, bool(card.assumed)) == (16 * GIB, 16 * GIB, True)
    with pytest.raises(GpuError, match="is not a card"):
        from_size("big")


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"name": "x", "total_bytes": 0}', '{"name": "x", "total_bytes": "y"}']
)
def test_what_is_no_recorded_card_is_refused_in_words(text: str) -> None:
    with pytest.raises(GpuError, match=r"gpu\.json"):
        from_json(text, "gpu.json")


def test_a_recorded_card_is_read_again() -> None:
    card = ask_driver("0", nvml())
    assert json.loads(record(card))["version"] == 1
    assert from_json(record(card), "gpu.json") == replace(card, origin="recorded in gpu.json")


def test_a_card_recorded_by_hand_may_be_short() -> None:
    card = from_json('{"name": "x", "total_bytes": 7, "compute_capability": 8.6, "colour": "red"}', "gpu.json")
    assert (card.free_bytes, card.compute_capability, card.processes, card.assumed) == (7, "8.6", (), ())
    assert from_json('{"name": "x", "total_bytes": 7}', "gpu.json").assumed
    with pytest.raises(GpuError, match=r"gpu\.json:1:2: version: its version is 2"):
        from_json('{"version": 2}', "gpu.json")


@pytest.mark.parametrize(
    ("system", "release", "windows"),
    [
        ("Linux", "6.8.0-51-generic", False),
        ("Linux", "5.15.153.1-microsoft-standard-WSL2", True),
        ("Windows", "11", True),
        ("Darwin", "24.1.0", False),
    ],
)
def test_where_windows_manages_the_card_is_known(system: str, release: str, windows: bool) -> None:
    assert on_windows(system, release) == windows


def test_a_card_under_windows_is_recorded_as_one() -> None:
    card = ask_driver("0", nvml(), windows=True)
    assert card.wddm
    assert from_json(record(card), "gpu.json").wddm
    assert "wddm" not in record(ask_driver("0", nvml(), windows=False))
