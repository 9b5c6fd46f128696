"""The card: asked from the driver (NVML), read from a recorded gpu.json, or assumed from a bare size.

`total_bytes` is what the driver lets programs use: 15.47 GiB on a card sold as 16 GB.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from kit.errors import KitError
from kit.units import MIB, parse_bytes

SMALLEST = 256 * MIB  # below it, a unit was forgotten


@dataclass(frozen=True)
class Process:
    """A process that holds memory on the card."""

    pid: int
    name: str
    bytes: int


@dataclass(frozen=True)
class Gpu:
    """A card (kind cuda) or the host's own memory (kind host, when the manifest says `gpu.device: none`).

    `assumed` names what nobody measured, in words for the bill; `origin` says where the rest comes from; `limit_bytes`
    is gpu.memory on a card that is larger: the rest is left alone."""

    name: str
    total_bytes: int
    free_bytes: int
    uuid: str | None = None
    index: int = 0
    compute_capability: str | None = None
    driver: str | None = None
    processes: tuple[Process, ...] = ()
    assumed: tuple[str, ...] = ()
    kind: Literal["cuda", "host"] = "cuda"
    origin: str = ""
    limit_bytes: int | None = None


class GpuError(KitError):
    """The card cannot be asked, or what was given for it cannot be read. Exit 4: the machine is not ready."""

    exit_code = 4


def from_size(text: str, origin: str = "given as a size") -> Gpu:
    """A card of a bare size, such as 16GiB. What a size leaves unknown is assumed as for a consumer card."""
    try:
        total = parse_bytes(text)
    except ValueError as error:
        raise GpuError(f"'{text}' is no card; needed: {error}, or the path of a recorded gpu.json") from None
    if total < SMALLEST:
        raise GpuError(f"'{text}' is {total} bytes, and no card is so small; did you mean {text}GiB, or a gpu.json?")
    assumed = ("compute capability and context as for a consumer card",)
    return Gpu(f"a card of {text}", total, total, assumed=assumed, origin=origin)


def host(total: int, available: int, origin: str) -> Gpu:
    """The host's memory, for serving on the CPU."""
    return Gpu("host memory", total, available, kind="host", origin=origin)


def to_json(gpu: Gpu) -> dict[str, Any]:
    """The recorded form, as in gpu.json."""
    data = asdict(gpu)
    for left_out in ("assumed", "kind", "origin", "limit_bytes"):
        del data[left_out]
    return data


def from_json(text: str, origin: str) -> Gpu:
    """A recorded card. Raises GpuError that names what is missing."""
    try:
        data = json.loads(text)
    except ValueError as error:
        raise GpuError(f"{origin}: not JSON ({error}); `monogpu-kit gpu -o gpu.json` records a card") from None
    if not isinstance(data, Mapping):
        raise GpuError(f"{origin}: a recorded card is one JSON object with name, total_bytes and free_bytes")
    missing = [key for key in ("name", "total_bytes") if key not in data]
    if missing:
        raise GpuError(
            f"{origin}: {' and '.join(missing)} missing; a recorded card needs name, total_bytes and free_bytes"
        )
    try:
        return _card(data, origin)
    except (TypeError, ValueError, KeyError) as error:
        raise GpuError(f"{origin}: not a recorded card ({error})") from None


def _card(data: Mapping[str, Any], origin: str) -> Gpu:
    total = int(data["total_bytes"])
    if total <= 0:
        raise ValueError("total_bytes must be more than 0")
    processes = tuple(Process(int(p["pid"]), str(p["name"]), int(p["bytes"])) for p in data.get("processes") or ())
    capability = data.get("compute_capability")
    return Gpu(
        name=str(data["name"]),
        total_bytes=total,
        free_bytes=int(data.get("free_bytes", total)),
        uuid=data.get("uuid"),
        index=int(data.get("index") or 0),
        compute_capability=str(capability) if capability else None,
        driver=data.get("driver"),
        processes=processes,
        assumed=() if capability else ("compute capability as for a consumer card",),
        origin=origin,
    )


def ask_driver(device: str, nvml: Any = None) -> Gpu:
    """The card `device` (index or UUID) as NVML shows it now. `nvml` is the pynvml module; given, it is used as it is.

    Raises GpuError: no driver, no such card, no NVML."""
    if nvml is None:
        import pynvml as nvml
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        raise GpuError(
            f"no NVIDIA driver answers here ({error}); needed: a card, or plan for one with --gpu 16GiB or a recorded "
            "gpu.json, or serve on the CPU with gpu.device: none"
        ) from None
    try:
        return _ask(device, nvml)
    except nvml.NVMLError as error:
        raise GpuError(
            f"the driver refused to describe card '{device}' ({error}); `nvidia-smi -L` lists the cards"
        ) from None
    finally:
        nvml.nvmlShutdown()


def compute_mode(device: str, nvml: Any = None) -> str | None:
    """Who may use the card at once: default, exclusive_process or prohibited; None when the driver does not say."""
    if nvml is None:
        import pynvml as nvml
    names = {0: "default", 1: "exclusive_process", 2: "prohibited", 3: "exclusive_process"}
    try:
        nvml.nvmlInit()
        try:
            return names.get(int(nvml.nvmlDeviceGetComputeMode(_handle(device, nvml))))
        finally:
            nvml.nvmlShutdown()
    except nvml.NVMLError:
        return None


def _handle(device: str, nvml: Any) -> Any:
    by_uuid = device.startswith(("GPU-", "MIG-"))
    return nvml.nvmlDeviceGetHandleByUUID(device) if by_uuid else nvml.nvmlDeviceGetHandleByIndex(int(device))


def _ask(device: str, nvml: Any) -> Gpu:
    handle = _handle(device, nvml)
    memory = _memory(handle, nvml)
    major, minor = nvml.nvmlDeviceGetCudaComputeCapability(handle)
    return Gpu(
        name=_text(nvml.nvmlDeviceGetName(handle)),
        total_bytes=memory[0],
        free_bytes=memory[1],
        uuid=_text(nvml.nvmlDeviceGetUUID(handle)),
        index=int(nvml.nvmlDeviceGetIndex(handle)),
        compute_capability=f"{major}.{minor}",
        driver=_text(nvml.nvmlSystemGetDriverVersion()),
        processes=_processes(handle, nvml),
        origin="asked from the driver",
    )


def _memory(handle: Any, nvml: Any) -> tuple[int, int]:
    """(what programs may use, what is free). The driver keeps some memory for itself, which CUDA never shows: NVML's
    second structure names it; the first counts it as used."""
    try:
        memory = nvml.nvmlDeviceGetMemoryInfo(handle, version=nvml.nvmlMemory_v2)
        return int(memory.total) - int(memory.reserved), int(memory.free)
    except (nvml.NVMLError, AttributeError, TypeError):
        memory = nvml.nvmlDeviceGetMemoryInfo(handle)
        return int(memory.total), int(memory.free)


def _processes(handle: Any, nvml: Any) -> tuple[Process, ...]:
    """Compute and graphics processes; the driver may hide another container's names and, on WSL2, all sizes."""
    found: dict[int, int] = {}
    for ask in (nvml.nvmlDeviceGetComputeRunningProcesses, nvml.nvmlDeviceGetGraphicsRunningProcesses):
        try:
            listed = ask(handle)
        except nvml.NVMLError:
            continue
        for process in listed:
            found[process.pid] = max(found.get(process.pid, 0), int(process.usedGpuMemory or 0))
    return tuple(Process(pid, _name(pid, nvml), size) for pid, size in sorted(found.items()))


def _name(pid: int, nvml: Any) -> str:
    try:
        return _text(nvml.nvmlSystemGetProcessName(pid)).rsplit("/", 1)[-1]
    except nvml.NVMLError:
        return "unknown"


def _text(value: str | bytes) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def ask_host() -> Gpu:
    """The host's memory as it is now."""
    import psutil

    memory = psutil.virtual_memory()
    return host(memory.total, memory.available, "asked from the host")
