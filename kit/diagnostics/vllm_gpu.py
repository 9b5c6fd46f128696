"""The card, its driver, and whether the container sees it. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from kit.diagnostics.pattern import Pattern

_UPDATE = "update the driver, or take an older image: `image:` of the model"


def _cuda(found: Mapping[str, str]) -> Mapping[str, str]:
    """PyTorch writes 12020 for 12.2."""
    number = int(found["found"])
    return {"found": f"{number // 1000}.{number % 1000 // 10}"}


PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        r"NVIDIA driver on your system is too old \(found version (?P<found>\d+)\)",
        "the NVIDIA driver is too old for the CUDA in the image: it runs CUDA up to {found}",
        _UPDATE,
        derived=_cuda,
    ),
    Pattern(
        r"CUDA driver version is insufficient|NVIDIA driver on your system is too old\b(?! \(found)"
        r"|forward compatibility was attempted on non supported HW"
        r"|unsupported display driver / cuda driver combination|cudaErrorInsufficientDriver"
        r"|PTX was compiled with an unsupported toolchain|CUDA_ERROR_UNSUPPORTED_PTX_VERSION"
        r"|unsupported PTX version",
        "the NVIDIA driver is too old for the CUDA in the image",
        _UPDATE,
    ),
    Pattern(
        r"[Dd]river/library version mismatch|NVML/RM version mismatch|NVMLError_LibRmVersionMismatch"
        r"|API mismatch: the client has the version",
        "the NVIDIA driver was updated, and its older kernel module is still loaded",
        "reboot this machine",
    ),
    Pattern(
        r"NVML: Unknown Error|NVMLError_Unknown\b",
        "the container has lost the card: systemd was reloaded on the host and took the devices away from it",
        "restart the worker (`monogpu-kit up`); `gpu: {access: cdi}`, or `native.cgroupdriver=cgroupfs` in "
        "daemon.json, "
        "keeps it from coming back",
    ),
    Pattern(
        r"NVMLError_(?:NoPermission|InsufficientPower)|NVML: Insufficient Permissions",
        "the container may not use the card's devices",
        "`ls -l /dev/nvidia*` on the host: they must be open to all (0666)",
    ),
    Pattern(
        r"NVMLError_NotSupported(?!\w)|NVML: Not Supported",
        "the driver does not tell what the engine asks of it on this card: one that shares its memory with the host "
        "(GB10, Jetson), or WSL2",
        "take a newer image, which does without: `image:` of the model",
    ),
    Pattern(
        r"CUDA unknown error - this may be due to an incorrectly set up environment|Error 999: unknown error"
        r"|CUDA_ERROR_UNKNOWN|Error 304: OS call failed",
        "the driver cannot set the card up: after a suspend, or because its module nvidia_uvm is not loaded",
        "`sudo rmmod nvidia_uvm && sudo modprobe nvidia_uvm` on the host, or reboot; then start again",
    ),
    Pattern(
        r"Error 802: system not yet initialized|CUDA_ERROR_SYSTEM_NOT_READY|system not yet initialized",
        "the driver waits for NVIDIA's fabric manager, which cards that are linked by NVSwitch need",
        "`sudo systemctl enable --now nvidia-fabricmanager`, in the driver's version",
    ),
    Pattern(
        r"invalid device ordinal|CUDA_ERROR_INVALID_DEVICE",
        "the engine asks for a card that its container does not have: it is given one alone, which is number 0",
        "take arguments and variables that name other cards out of `args` and `env`; `gpu.device` chooses the card",
    ),
    Pattern(
        r"No CUDA GPUs are available|Failed to infer device type|UnspecifiedPlatform|libcuda\.so(?:\.1)?: cannot open"
        r"|no CUDA-capable device is detected|Found no NVIDIA driver on your system|NVML Shared Library Not Found"
        r"|NVMLError_(?:LibraryNotFound|DriverNotLoaded)|NVML: Driver Not Loaded|cannot find -lcuda\b"
        r"|couldn't communicate with the NVIDIA driver"
        r"|Device string must not be empty|libcuda\.so cannot (?:be )?found",
        "the container sees no card",
        "install the NVIDIA container toolkit, or write `gpu: {access: cdi}`; `monogpu-kit doctor` looks at it",
    ),
    Pattern(
        r"CUDA driver is a stub library|libcuda\.so[^\n]{0,40}stub",
        "the container finds a stub of libcuda in place of the driver's",
        "take LD_LIBRARY_PATH out of `env` of the model, or an image that does not set it to a folder of stubs",
    ),
    Pattern(
        r"CUDA-capable device\(?s?\)? (?:is/)?are busy or unavailable|all CUDA-capable devices are busy",
        "the card accepts no further process: its compute mode is exclusive, or an NVIDIA MPS daemon runs whose folder "
        "and /dev/shm this container does not share",
        "`sudo nvidia-smi -c DEFAULT`, and `echo quit | sudo nvidia-cuda-mps-control` for a daemon of the host",
    ),
    Pattern(
        r"Cannot re-initialize CUDA in forked subprocess",
        "the engine started its process by a fork after CUDA was in use",
        "write `env: {VLLM_WORKER_MULTIPROCESSING_METHOD: spawn}` for the model",
    ),
    Pattern(
        r"uncorrectable (?:ECC|NVLink) error|GPU is lost|device is lost|fallen off the bus|NVMLError_GpuIsLost"
        r"|NVRM: Xid \([^)]*\): (?:48|61|62|63|64|74|79|92|94|95|110|119|120|140)\b|RmInitAdapter failed",
        "the card itself failed",
        "`dmesg | grep -i xid` names the error; reset the card or reboot",
    ),
    Pattern(
        r"CUDA error: an illegal (?:memory access|instruction) was encountered|device-side assert triggered"
        r"|CUDA error: misaligned address|CUDA error: unspecified launch failure|CUDA_ERROR_(?:ILLEGAL|MISALIGNED"
        r"|LAUNCH_FAILED)"
        r"|CUDA error: (?:warp illegal|invalid program counter|hardware stack error|an exception occurred)"
        r"|NVRM: Xid \([^)]*\): (?:13|31|32|43|69)\b|CUDA error: invalid configuration argument"
        r"|CUBLAS_STATUS_(?:EXECUTION_FAILED|INTERNAL_ERROR|INVALID_VALUE|NOT_SUPPORTED)"
        r"|GET was unable to find an engine|Xid \([^)]*\): 109\b"
        r"|CUDNN_STATUS_(?:EXECUTION_FAILED|NOT_SUPPORTED|BAD_PARAM|MAPPING_ERROR)",
        "a kernel failed: a bug of the engine or of its kernels, not of the plan",
        "take another image (`image:` of the model), or `graphs: off`; report it to the engine's makers",
    ),
    Pattern(
        r"operation (?:not permitted when stream is capturing|failed due to a previous error during capture)"
        r"|cudaErrorStreamCapture\w+|CUDA error: operation would make the legacy stream",
        "a kernel of this model cannot be captured in a CUDA graph",
        "write `graphs: off` for the model, or take another image; report it to the engine's makers",
    ),
    Pattern(
        r"CUDA error: operation not supported|CUDA_ERROR_NOT_SUPPORTED|cudaErrorNotSupported",
        "the card, as this machine gives it, does not do what the engine asks: vGPUs and WSL2 lack parts of CUDA",
        "take --enable-sleep-mode, --cpu-offload-gb and the like out of `args`; a vGPU needs unified memory enabled",
    ),
)
