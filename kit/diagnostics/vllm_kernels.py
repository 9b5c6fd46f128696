"""Kernels: which cards they run on, attention backends, and compilers. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from kit.diagnostics.pattern import Pattern

_NEWER = "take a newer image: `image:` of the model"
_FULL = "take the full image (vllm/vllm-openai), or one with gcc and g++ in it"
_BACKEND = (
    "take --attention-backend out of `args`, so that the engine chooses; "
    "else write `args: [--attention-backend, TRITON_ATTN]`"
)


def _capability(found: Mapping[str, str]) -> Mapping[str, str]:
    """vLLM writes 80 for 8.0."""
    return {name: f"{value[:-1]}.{value[-1]}" for name, value in found.items() if value.isdecimal() and len(value) > 1}


PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        r"with CUDA capability (?P<capability>sm_\d+\w*) is not compatible with the current PyTorch installation",
        "the image has no kernels for this card ({capability}): PyTorch in it was built for others",
        "take a newer image, or for a card older than compute capability 7.5 one with CUDA 12: `image:` of the model",
    ),
    Pattern(
        r"[Vv]alue '(?P<gpu>sm_\w+)' is not defined for option 'gpu-name'|Unsupported gpu architecture "
        r"'(?P<arch>[^']+)'"
        r"|nvrtc: error: invalid value for --gpu-architecture|NVRTC_ERROR_INVALID_OPTION"
        r"|ptxas[^\n]{0,80}(?:Unsupported \.version|unsupported arch)|'(?P<other>sm_\w+)' is not a recognized "
        r"processor"
        r"|cannot be compiled to future architecture",
        "the compilers in the image are older than the card {gpu}{arch}{other}",
        f"{_NEWER}; where the image has a newer CUDA than Triton, `env: {{TRITON_PTXAS_PATH: "
        "/usr/local/cuda/bin/ptxas}}`",
    ),
    Pattern(
        r"no kernel image is available for execution on the device|device kernel image is invalid"
        r"|CUDA error: (?:named symbol not found|invalid device function)|cudaErrorNoKernelImageForDevice"
        r"|[Nn]o compiled cutlass\w*|not compiled with (?:SM|sm_?)\s?\d+|no kernel image for"
        r"|CUDA_ERROR_NO_BINARY_FOR_GPU"
        r"|compute capability not in compiled architectures|FATAL: kernel `\w+` is for sm\d+",
        "the image has no kernels for this card: it was built for others",
        f"{_NEWER}; a card older than compute capability 7.5 needs one with CUDA 12",
    ),
    Pattern(
        r"cutlass_gemm_caller|Error Internal: cutlass|cutlass[^\n]{0,60}(?:Error Internal|Invalid problem|Misaligned)"
        r"|Error Misaligned Operand|Internal: \d+ at [^\n]{0,80}cutlass",
        "a CUTLASS kernel for quantised weights failed on this card",
        f"{_NEWER}; or the model in another quantization, such as AWQ or GPTQ",
    ),
    Pattern(
        r"type (?P<dtype>fp8\w+) not supported in this architecture|[Ff][Pp]8[^\n]{0,60}(?:requires?|needs?|only "
        r"supported)"
        r"[^\n]{0,60}(?:compute capability|sm_?89|Ada|Hopper|8\.9)|fp8e4nv data type is not supported",
        "this card computes no fp8: that needs compute capability 8.9",
        "take fp8 out: `--kv-cache-dtype` of `args`, or the model in AWQ, GPTQ or 16 bits",
    ),
    Pattern(
        r"does not support native (?P<kind>[\w ]*?)(?:FP4|MXFP4) quantization|(?:NVFP4|MXFP4|FP4)[^\n]{0,60}requires?"
        r"[^\n]{0,40}(?:Blackwell|sm_?100|SM100|compute capability)",
        "this card computes no 4-bit floats: that needs a Blackwell card (compute capability 10.0 or 12.0)",
        "take the model in another quantization, such as FP8, AWQ or GPTQ",
    ),
    Pattern(
        r"No (?P<what>\w+ MoE|valid \w+ MoE|\w+ linear) backends? (?:supports?|found|is available)[^\n]{0,120}"
        r"|Failed to find a kernel that can implement the (?P<layer>[\w ]+?) (?:linear )?layer"
        r"|kernel does not support current device"
        r"|Marlin (?:kernel )?(?:is not|does not) support|Expected is_sm\d+[^\n]{0,60} to be true|\w+ MoE is not "
        r"supported on this (?:device|platform|GPU)",
        "this version has no kernel for this quantization ({what}{layer}) on this card",
        f"{_NEWER}; or the model in another quantization",
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
        r"FlashAttention only supports Ampere GPUs or newer|FlashInfer requires GPUs with sm75"
        r"|FA[234] is only supported on devices|FlashMLA[^\n]{0,60}only supported|FlashAttention "
        r"?[234][^\n]{0,60}(?:requires|only)"
        r"|only supported in FlashAttention ?\d|[Ss]inks are (?:only|not) supported|TRTLLM[^\n]{0,60}(?:requires"
        r"|only supported)"
        r"|Cannot use FA version \d|FA version \d is not supported",
        "the attention kernels that the engine chose, or was asked for, do not run this model on this card",
        _BACKEND,
    ),
    Pattern(
        r"Head size (?P<size>\d+) is not supported by (?P<by>\w+)|Cannot use FlashAttention\S* backend for head size "
        r"(?P<other>\d+)"
        r"|No valid attention backend found|[Ss]elected backend \S+ is not valid for this configuration"
        r"|Invalid attention backend for \w+|[Uu]nknown attention backend"
        r"|head ?dim(?:ension)?[^\n]{0,30}(?:not|at most|multiple|unsupported)|Unsupported FA version",
        "no attention backend takes this model with these settings: head size {size}{other}, KV dtype or the like",
        f"{_BACKEND}; take --kv-cache-dtype and --block-size out of `args` too, or a newer image",
    ),
    Pattern(
        r"out of resources?: shared memory,? Required: (?P<needed>\d+),? Hardware limit: (?P<most>\d+)",
        "a kernel needs {needed} B of the chip's shared memory, and this card has {most}: it was tuned for larger "
        "cards",
        f"{_BACKEND}; or a newer image; more `memory` does not help",
    ),
    Pattern(
        r"out of resources?: (?:registers|threads|tensor memory)|too much shared data \("
        r"|FlashInfer Internal Error: Invalid configuration|CUDA error: too many resources requested for launch",
        "a kernel needs more registers or shared memory of the chip than this card has: it was tuned for larger cards",
        f"{_BACKEND}; or a newer image; more `memory` does not help",
    ),
    Pattern(
        r"PassManager::run failed|LLVM ERROR: |Unsupported conversion from '?\w+",
        "Triton cannot compile a kernel of this model for this card",
        f"{_NEWER}; `graphs: off` leaves out some of them; or the model in another quantization",
    ),
    Pattern(
        r"No such file or directory: '(?:\S*/)?(?P<tool>ninja|nvcc)'|Could not find (?P<found>nvcc) and default cuda"
        r"|(?P<path>\S*nvcc): (?:not found|No such file)|Ninja is required to load C\+\+ extensions"
        r"|CUDA_HOME environment variable is not set",
        "a kernel has to be built for this card, and the image has no compiler for it ({tool}{found}{path})",
        "take the full image (vllm/vllm-openai), or write `env: {VLLM_USE_FLASHINFER_SAMPLER: '0'}` for the model",
    ),
    Pattern(
        r"Failed to find C compiler|InvalidCxxCompiler|No working C\+\+ compiler|g\+\+:? (?:not found|No such file)"
        r"|fatal error: Python\.h",
        "PyTorch or Triton has to build code, and the image has no C or C++ compiler with its headers",
        f"{_FULL}; or `graphs: off`",
    ),
    Pattern(
        r"failed to map segment from shared object",
        "a folder from which compiled code is loaded is mounted noexec",
        "write `env: {TMPDIR: ...}` with a folder that may hold programs, and look at mounts that were edited by hand",
    ),
    Pattern(
        r"(?:torch_compile_cache|torchinductor|inductor_cache|torch_aot_compile|/\.triton/cache|/triton/)[^\n]{0,200}"
        r"(?:No such file|not found|corrupt|EOFError|UnpicklingError)"
        r"|(?:No such file or directory|EOFError|UnpicklingError|corrupt)[^\n]{0,80}"
        r"(?:torch_compile_cache|torchinductor|inductor_cache|torch_aot_compile|/\.triton/)"
        r"|Failed to load (?:compiled|AOT)[^\n]{0,80}cache|[Cc]ompile cache[^\n]{0,60}corrupt",
        "the cache of compiled kernels is incomplete: another start was ended while it wrote, or the image was changed",
        "`monogpu-kit down`, then `docker volume ls` and `docker volume rm` the project's volume compiled-NAME (or "
        "triton); "
        "the next start compiles again",
    ),
    Pattern(
        r"flashinfer-(?:cubin|jit-cache)[^\n]{0,40}version \((?P<one>[^)]+)\) does not match flashinfer version "
        r"\((?P<two>[^)]+)\)",
        "the image holds parts of FlashInfer in two versions ({one} and {two})",
        "take an unchanged image, or `env: {FLASHINFER_DISABLE_VERSION_CHECK: '1'}` if you know that they go together",
    ),
    Pattern(
        r"triton[^\n]{0,40}CompilationError",
        "Triton cannot compile a kernel of this model",
        f"{_NEWER}; the line below this one says what it does not take",
        general=True,
    ),
    Pattern(
        r"BackendCompilerFailed|torch\._inductor\.exc\.\w+|torch\._dynamo\.exc\.\w+|InductorError",
        "torch.compile cannot compile this model",
        "write `graphs: off` for the model, which does without; or take another image",
        general=True,
    ),
)
