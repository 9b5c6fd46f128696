"""The card, its driver, and what the image makes of them. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from kit.diagnostics.pattern import Pattern


def _capability(found: Mapping[str, str]) -> Mapping[str, str]:
    """vLLM writes 80 for 8.0."""
    return {name: f"{value[:-1]}.{value[-1]}" for name, value in found.items() if value.isdecimal() and len(value) > 1}


def _cuda(found: Mapping[str, str]) -> Mapping[str, str]:
    """PyTorch writes 12020 for 12.2."""
    number = int(found["found"])
    return {"found": f"{number // 1000}.{number % 1000 // 10}"}


PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        r"with CUDA capability (?P<capability>sm_\d+\w*) is not compatible with the current PyTorch installation",
        "the image has no kernels for this card ({capability}): it is older than the card",
        "take a newer image: `image:` of the model",
    ),
    Pattern(
        r"no kernel image is available for execution on the device|PTX was compiled with an unsupported toolchain",
        "the image has no kernels for this card: it is older than the card",
        "take a newer image: `image:` of the model",
    ),
    Pattern(
        r"NVIDIA driver on your system is too old \(found version (?P<found>\d+)\)",
        "the NVIDIA driver is too old for the CUDA in the image: it runs CUDA up to {found}",
        "update the driver, or take an older image: `image:` of the model",
        derived=_cuda,
    ),
    Pattern(
        r"unsatisfied condition: (?P<needed>cuda ?>= ?[\d.]+)",
        "the NVIDIA driver is too old for the image, which needs {needed}",
        "update the driver, or take an older image: `image:` of the model",
    ),
    Pattern(
        r"CUDA driver version is insufficient|NVIDIA driver on your system is too old"
        r"|forward compatibility was attempted on non supported HW"
        r"|unsupported display driver / cuda driver combination",
        "the NVIDIA driver is too old for the CUDA in the image",
        "update the driver, or take an older image: `image:` of the model",
    ),
    Pattern(
        r"Driver/library version mismatch|NVML/RM version mismatch|NVMLError_LibRmVersionMismatch",
        "the NVIDIA driver was updated, and its older kernel module is still loaded",
        "reboot this machine",
    ),
    Pattern(
        r"No CUDA GPUs are available|Failed to infer device type|UnspecifiedPlatform|libcuda\.so\.1: cannot open"
        r"|no CUDA-capable device is detected|Found no NVIDIA driver on your system|NVML Shared Library Not Found",
        "the container sees no card",
        "install the NVIDIA container toolkit, or write `gpu: {access: cdi}`; `monogpu-kit doctor` looks at it",
    ),
    Pattern(
        r"CUDA-capable device\(s\) is/are busy or unavailable",
        "the card accepts no further process: its compute mode is exclusive, or an NVIDIA MPS daemon runs whose folder "
        "and /dev/shm this container does not share",
        "`sudo nvidia-smi -c DEFAULT`, and `echo quit | sudo nvidia-cuda-mps-control` for a daemon of the host",
    ),
    Pattern(
        r"Bfloat16 is only supported on GPUs with compute capability of at least (?P<needed>[\d.]+?)\.?\s",
        "this card computes no bfloat16: that needs compute capability {needed}",
        "write `args: [--dtype, half]` for the model",
    ),
    Pattern(
        r"quantization method (?P<method>\S+) is not supported for the current GPU\. Minimum capability: "
        r"(?P<needed>\d+)\. Current capability: (?P<there>\d+)",
        "quantization {method} needs compute capability {needed}, and this card has {there}",
        "take the model in another quantization, such as AWQ or GPTQ, or unquantized",
        derived=_capability,
    ),
    Pattern(
        r"(?P<dtype>torch\.\w+) is not supported for quantization method (?P<method>\S+)\. "
        r"Supported dtypes: (?P<known>[^\n]+)",
        "quantization {method} computes in {known}, not in {dtype}",
        "write `args: [--dtype, half]` for the model",
    ),
    Pattern(
        r"No such file or directory: '(?:\S*/)?(?P<tool>ninja|nvcc)'|Could not find (?P<found>nvcc) and default cuda"
        r"|(?P<path>\S*nvcc): (?:not found|No such file)|Ninja is required to load C\+\+ extensions",
        "a kernel has to be built for this card, and the image has no compiler for it ({tool}{found}{path})",
        "take the full image (vllm/vllm-openai), or write `env: {VLLM_USE_FLASHINFER_SAMPLER: '0'}` for the model",
    ),
    Pattern(
        r"Failed to find C compiler",
        "Triton has to build a launcher, and the image has no C compiler",
        "take the full image (vllm/vllm-openai), or one with gcc in it",
    ),
    Pattern(
        r"uncorrectable ECC error|GPU is lost|device is lost|fallen off the bus|CUDA error: unspecified launch failure",
        "the card itself failed",
        "`dmesg | grep -i xid` names the error; reset the card or reboot",
    ),
    Pattern(
        r"CUDA error: an illegal memory access was encountered|CUDA error: device-side assert triggered",
        "a kernel failed: a bug of the engine or of its kernels, not of the plan",
        "take another image (`image:` of the model), or `graphs: off`; report it to the engine's makers",
    ),
    Pattern(
        r"NCCL error[^\n]{0,400}|ncclUnhandledCudaError|ncclSystemError",
        "NCCL, which the engine starts even for one card, could not be set up",
        "write `env: {NCCL_DEBUG: INFO}` for the model and read its log; often /dev/shm or the network is the reason",
    ),
)
