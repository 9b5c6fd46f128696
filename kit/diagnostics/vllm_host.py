"""The container's files and libraries, and the disk they lie on. Pure."""

from __future__ import annotations

from kit.diagnostics.pattern import Pattern

_IMAGE = "take an unchanged image (`image:` of the model), or one that was built with it"

PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        r"has no attribute 'init_cpu_memory_env'|libnuma\.so\.1: cannot open",
        "the image lacks libnuma1, which vLLM needs on the CPU",
        "build the image again: scripts/build-images",
    ),
    Pattern(
        r"Insufficient space in /dev/shm for shared-memory allocation: (?P<needed>\d+ \w+) required, "
        r"(?P<free>\d+ \w+) free",
        "the container's shared memory is too small: {needed} are needed, and {free} are free",
        "raise `shm_size`: the kit prints 1 GiB",
    ),
    Pattern(
        r"unable to write to file </torch_\S+ No space left|/dev/shm[^\n]{0,400}No space left"
        r"|insufficient shared memory|Bus error|signal: bus error|SIGBUS",
        "the container's shared memory is full",
        "raise `shm_size`",
        unless=r"NCCL|/nccl-",
    ),
    Pattern(
        r"Disk quota exceeded|\[Errno 122\]|\(os error 122\)",
        "the quota of the disk that is written to is used up",
        "give that user or folder a larger quota, or remove what is not needed there",
    ),
    Pattern(
        r"No space left on device|[Nn]ot enough free disk space",
        "the disk is full",
        "`docker system df` shows what Docker holds; `docker image prune` frees some",
        unless=r"/dev/shm|torch_|NCCL|nccl",
    ),
    Pattern(
        r"\[Errno 5\] Input/output error|\(os error 5\)|Stale file handle|\[Errno 116\]|Transport endpoint is not "
        r"connected",
        "a disk or a network file system failed to read",
        "`dmesg | tail` on the host; mount the folder of `source` again, or copy it to a local disk",
    ),
    Pattern(
        r"Read-only file system: '(?P<path>[^']+)'",
        "the container may not write {path}",
        "mount a volume there: `volumes` of the model",
    ),
    Pattern(
        r"No usable temporary directory found",
        "the container can write no temporary files: /tmp is read only or full",
        "render again: the kit mounts memory at /tmp",
    ),
    Pattern(
        r"(?:PermissionError|Permission denied)[^\n]{0,400}?'(?P<path>/[^']+)'",
        "the container's user may not use {path}",
        "`chmod -R a+rX` what is mounted there",
    ),
    Pattern(
        r"PermissionError: \[Errno 13\] Permission denied|Permission denied \(os error 13\)",
        "the container's user may not use a file",
        "`chmod -R a+rX` what is mounted",
    ),
    Pattern(
        r"getpwuid\(\): uid not found: (?P<uid>\d+)",
        "the container's user {uid} has no name, and PyTorch asks for one",
        "write `env: {USER: vllm}` for the model",
    ),
    Pattern(
        r"Error: [^\n]{0,300}?[Pp]lease install (?P<what>[\w\[\]-]+)|Error: [^\n]{0,300}?pip install (?:-U "
        r")?[`'\"]?(?P<pip>[\w\[\]-]+)"
        r"|ModuleNotFoundError: No module named '(?P<module>[\w.]+)'|not found in your environment: (?P<list>[\w, -]+)"
        r"|GGUF support has moved to the (?P<plugin>[\w-]+) package",
        "the image lacks the Python package {what}{pip}{module}{list}{plugin}, which this model or these settings need",
        "build an image with it (FROM the engine's image, and pip install) and name it in `image:` of the model; or "
        "take the model in another format",
        unless=r"hf_transfer|flashinfer-",
    ),
    Pattern(
        r"undefined symbol: |version `(?P<version>(?:GLIBC|GLIBCXX|CXXABI)\w*_[\d.]+)' not found|\.so(?:\.\d+)*: "
        r"cannot open "
        r"shared object file|cannot import name '(?P<name>\w+)' from|'_OpNamespace' '\w+' object has no attribute"
        r"|(?:SUB|CUDNN_|CUBLAS_)\w*(?:VERSION|ARCH)_MISMATCH|numpy\.dtype size changed|compiled using NumPy 1\.x"
        r"|The detected CUDA version \([^)]*\) mismatches|operator torchvision::\w+ does not exist|Cannot find a "
        r"working triton installation",
        "a library is missing in the image, or does not fit the others {version}{name}: something was installed over "
        "it, or a volume hides a part of it",
        _IMAGE,
        unless=r"nvidia-container-cli|libcuda\.so|libnuma|libnvidia|init_cpu_memory_env",
    ),
    Pattern(
        r"Illegal instruction|signal: illegal instruction|SIGILL",
        "the processor lacks an instruction that the image was built for",
        "take an image built for this processor",
    ),
)
