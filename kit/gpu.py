"""The card: asked from the driver (NVML), read from a recorded gpu.json, or assumed from a bare size.

`total_bytes` is what the driver lets programs use: 15.47 GiB on a card sold as 16 GB.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, TypeAdapter

from kit.errors import KitError, Problem
from kit.files import parse_versioned, versioned_json
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

    `assumed` names what was not measured, as the bill shows it; `origin` says where the rest comes from; `limit_bytes`
    is gpu.memory on a card that is larger: the rest is left alone; `wddm` says that Windows manages the card's memory
    (WSL2, Docker Desktop), which spills to the host's instead of failing."""

    name: str
    total_bytes: Annotated[int, Field(gt=0)]
    free_bytes: int
    uuid: str | None = None
    index: int = 0
    compute_capability: Annotated[str | None, Field(coerce_numbers_to_str=True)] = None
    driver: str | None = None
    processes: tuple[Process, ...] = ()
    assumed: tuple[str, ...] = ()
    kind: Literal["cuda", "host"] = "cuda"
    origin: str = ""
    limit_bytes: int | None = None
    wddm: bool = False


# A gpu.json written by hand may leave out what is free.
_RECORDED: TypeAdapter[Gpu] = TypeAdapter(
    Annotated[Gpu, BeforeValidator(lambda data: {"free_bytes": data.get("total_bytes", 0), **data})]
)


class GpuError(KitError):
    """The card cannot be asked, or what was given for it cannot be read. Exit 4: the machine is not ready."""

    exit_code = 4


def from_size(text: str, origin: str = "given as a size") -> Gpu:
    """A card of a bare size, such as 16GiB. The rest is assumed as for a consumer card."""
    try:
        total = parse_bytes(text)
    except ValueError as error:
        raise GpuError(f"'{text}' is not a card; needed: {error}, or the path of a recorded gpu.json") from None
    if total < SMALLEST:
        raise GpuError(f"'{text}' is {total} bytes, less than any card has; did you mean {text}GiB, or a gpu.json?")
    assumed = ("compute capability and context as for a consumer card",)
    return Gpu(f"a card of {text}", total, total, assumed=assumed, origin=origin)


def host(total: int, available: int, origin: str) -> Gpu:
    """The host's memory, for serving on the CPU."""
    return Gpu("host memory", total, available, kind="host", origin=origin)


def to_json(gpu: Gpu) -> dict[str, Any]:
    """What is recorded of a card: all but what was assumed and what the manifest says."""
    left_out = ("assumed", "kind", "origin", "limit_bytes", *(() if gpu.wddm else ("wddm",)))
    return {name: value for name, value in asdict(gpu).items() if name not in left_out}


def record(gpu: Gpu) -> str:
    """The text of a gpu.json."""
    return versioned_json(TypeAdapter(dict[str, Any]), to_json(gpu), indent=2)


def from_json(text: str, file: str) -> Gpu:
    """The card in a gpu.json, which is called `file`. Raises GpuError."""
    needed = "`monogpu-kit gpu -o gpu.json` records a card"
    gpu = parse_versioned(_RECORDED, text, file, needed, GpuError, strict=False)
    assumed = () if gpu.compute_capability else ("compute capability as for a consumer card",)
    return replace(gpu, assumed=assumed, origin=f"recorded in {file}")


def on_windows(system: str = "", release: str = "") -> bool:
    """Whether this is WSL2, or Windows itself; `system` and `release` are uname's, by default this machine's."""
    import platform

    kernel = (release or platform.release()).lower()
    return (system or platform.system()) == "Windows" or "microsoft" in kernel


def ask_driver(device: str, nvml: Any = None, windows: bool | None = None) -> Gpu:
    """The card `device` (index or UUID) as NVML shows it now. `nvml` is the pynvml module; given, it is used as it is.
    `windows`: None asks this machine.

    Raises GpuError: no driver, no such card, no NVML."""
    if nvml is None:
        import pynvml as nvml
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        needed = "plan for a card with --gpu 16GiB or a recorded gpu.json, or serve on the CPU with gpu.device: none"
        raise GpuError(Problem(f"no NVIDIA driver on this machine ({error})", needed)) from None
    try:
        return replace(_ask(device, nvml), wddm=on_windows() if windows is None else windows)
    except nvml.NVMLError as error:
        what = f"the driver refused to describe card '{device}' ({error})"
        raise GpuError(Problem(what, "`nvidia-smi -L` lists the cards")) from None
    finally:
        nvml.nvmlShutdown()


def compute_mode(device: str, nvml: Any = None) -> str | None:
    """default, exclusive_process or prohibited; None when the driver does not say."""
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
    """(usable bytes, free bytes). The driver reserves some memory, which CUDA never shows: NVML's second structure
    names it; the first counts it as used."""
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
