"""Flags, variables and mounts that the plan sets itself, and the key to use instead.

A flag has several spellings: `--max-model-len 8`, `--max-model-len=8`, `--max_model_len`, any unique prefix
(`--max-model`), `-tp 2`, `-O0`, `--compilation-config.mode=3`. All of them count.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping

from kit.errors import quoted
from kit.manifest.validators import Refused, variable_of

_PLACE = "only the router reaches workers; use router.bind and router.port"
_LORA = "use adapters:"
_GRAPHS = "use graphs: auto, full, small or off"
_ONE_CARD = "one worker has one card; use replicas: for several workers on it"
_TASK = "use task: generate, embed, rerank or classify"
_MEMORY = "use memory: with the whole footprint, such as 4GiB"

_TOOLS = "use tools: auto, off, or the parser's name"
_REASONING = "use reasoning: auto, off, or the parser's name"

_VLLM = {
    "model": "use source:",
    "served-model-name": "use name:, and adapters: for adapters",
    "revision": "use source: OWNER/NAME@REVISION",
    "host": _PLACE,
    "port": _PLACE,
    "uds": _PLACE,
    "root-path": _PLACE,
    "ssl-keyfile": _PLACE,
    "ssl-certfile": _PLACE,
    "headless": _PLACE,
    "grpc": _PLACE,
    "api-key": "use router.api_key: with the name of a variable; workers need no key",
    "hf-token": "use env: {HF_TOKEN: '${HF_TOKEN}'}",
    "gpu-memory-utilization": _MEMORY,
    "kv-cache-memory-bytes": _MEMORY,
    "num-gpu-blocks-override": _MEMORY,
    "max-model-len": "use context:",
    "max-num-seqs": "use requests:",
    "enforce-eager": "use graphs: off",
    "no-enforce-eager": _GRAPHS,
    "cudagraph-capture-sizes": _GRAPHS,
    "max-cudagraph-capture-size": _GRAPHS,
    "compilation-config": _GRAPHS,
    "optimization-level": _GRAPHS,
    "enable-lora": _LORA,
    "no-enable-lora": _LORA,
    "lora-modules": _LORA,
    "max-loras": _LORA,
    "max-lora-rank": _LORA,
    "max-cpu-loras": _LORA,
    "lora-dtype": _LORA,
    "fully-sharded-loras": _LORA,
    "specialize-active-lora": _LORA,
    "default-mm-loras": _LORA,
    "mm-processor-kwargs": "use limits: {image_tokens: 2048}",
    "tool-call-parser": _TOOLS,
    "enable-auto-tool-choice": _TOOLS,
    "no-enable-auto-tool-choice": _TOOLS,
    "reasoning-parser": _REASONING,
    "runner": _TASK,
    "task": _TASK,
    "convert": _TASK,
    "tensor-parallel-size": _ONE_CARD,
    "pipeline-parallel-size": _ONE_CARD,
    "data-parallel-size": _ONE_CARD,
    "data-parallel-size-local": _ONE_CARD,
    "decode-context-parallel-size": _ONE_CARD,
    "prefill-context-parallel-size": _ONE_CARD,
    "enable-expert-parallel": _ONE_CARD,
    "nnodes": _ONE_CARD,
    "node-rank": _ONE_CARD,
    "distributed-executor-backend": _ONE_CARD,
    "config": "write its flags as args:, so that the plan sees them",
    "download-dir": "downloads are kept in a volume; leave it out",
}
# Short flags after one dash; their value may be joined.
_VLLM_SHORT = (
    (re.compile(r"O.*"), "optimization-level"),
    (re.compile(r"cc(\..*)?"), "compilation-config"),
    (re.compile(r"tp[0-9]*"), "tensor-parallel-size"),
    (re.compile(r"pp[0-9]*"), "pipeline-parallel-size"),
    (re.compile(r"dp[a-z]*[0-9]*"), "data-parallel-size"),
    (re.compile(r"dcp[0-9]*"), "decode-context-parallel-size"),
    (re.compile(r"pcp[0-9]*"), "prefill-context-parallel-size"),
    (re.compile(r"ep"), "enable-expert-parallel"),
    (re.compile(r"n[0-9]*"), "nnodes"),
    (re.compile(r"r[0-9]*"), "node-rank"),
)
_OWNED: Mapping[str, Mapping[str, str]] = {"vllm": _VLLM}

_CACHES = "caches are mounted at fixed paths; leave it out"
_DEVICE = "use gpu.device:"
VARIABLES = {
    "VLLM_PORT": "it changes the worker's internal ports; leave it out",
    "VLLM_API_KEY": "workers need no key; use router.api_key: with the name of a variable",
    "VLLM_CPU_KVCACHE_SPACE": "it overrides the planned KV cache; use memory:",
    "CUDA_VISIBLE_DEVICES": _DEVICE,
    "NVIDIA_VISIBLE_DEVICES": _DEVICE,
    "CUDA_MPS_PIPE_DIRECTORY": "use gpu.mps: true",
    "CUDA_MPS_LOG_DIRECTORY": "use gpu.mps: true",
    "HF_HOME": _CACHES,
    "HF_HUB_CACHE": _CACHES,
    "HUGGINGFACE_HUB_CACHE": _CACHES,
    "VLLM_CACHE_ROOT": _CACHES,
    "TRITON_CACHE_DIR": _CACHES,
    "FLASHINFER_WORKSPACE_BASE": _CACHES,
}
_SECRET = re.compile(r"(?:.*_)?(?:TOKEN|SECRET|PASSWORD|API_KEY|ACCESS_KEY|SECRET_KEY)", re.IGNORECASE)

PATHS = ("/models", "/adapters", "/cache", "/root/.cache", "/root/.triton", "/tmp", "/dev", "/proc", "/sys")
_SOCKET = re.compile(r".*(?:docker|containerd|podman|crio)\.sock")
_ALL_SOCKETS = ("/", "/run", "/var/run")
_VOLUME_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_VOLUME = (
    "needed: host:container, or host:container:ro; host is a path that begins with ./ or / or ~/, or a volume's name"
)


def arguments(engine: str, args: tuple[str, ...]) -> Iterator[tuple[int, Refused]]:
    """(index, why) of every refused argument. What follows a flag is taken for its value."""
    for index, arg in enumerate(args):
        is_flag = re.match(r"--?[A-Za-z]", arg)
        flag = re.split(r"[=\s]", arg)[0]
        if is_flag and (owned := _owned_flag(engine, flag)):
            yield index, _owned_argument(engine, flag, owned)
        elif is_flag and arg[len(flag) : len(flag) + 1].isspace():
            yield index, Refused(f"{quoted(arg)} is one argument", f"needed: {flag} and its value as two items")
        elif index == 0 and not is_flag:
            yield index, Refused(f"{quoted(arg)} is not a flag", "needed: a flag first, such as --trust-remote-code")


def _owned_argument(engine: str, flag: str, owned: str) -> Refused:
    exact = flag.replace("_", "-") == f"--{owned}"
    what = (
        f"{quoted(flag)} is set by the plan" if exact else f"{quoted(flag)} means --{owned}, which is set by the plan"
    )
    return Refused(what, _OWNED[engine][owned], secret=owned in ("api-key", "hf-token"))


def _owned_flag(engine: str, flag: str) -> str | None:
    """The owned flag that the engine's parser would take `flag` for."""
    flags = _OWNED.get(engine)
    if not flags:
        return None
    if not flag.startswith("--"):
        return next((owned for form, owned in _VLLM_SHORT if form.fullmatch(flag[1:])), None)
    name = flag[2:].partition(".")[0].replace("_", "-")
    return name if name in flags else next((owned for owned in flags if owned.startswith(name)), None)


def variable(name: str, value: str) -> Refused | None:
    """Why a container may not get `name`=`value`; None when it may."""
    if len(name) > 255 or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        return Refused(f"{quoted(name)} is not a variable name", "letters, digits and _, no digit first", at_key=True)
    if name in VARIABLES:
        secret = _SECRET.fullmatch(name) is not None
        return Refused(f"{name} is set by the plan", VARIABLES[name], at_key=True, secret=secret)
    if variable_of(value):
        return None
    if _SECRET.fullmatch(name) and value:
        needed = f"write ${{{name}}} and set {name} in your environment, so that no file holds it"
        return Refused(f"{name} holds a secret", needed, secret=True)
    if "${" in value or re.fullmatch(r"\$[A-Za-z_]\w*", value):
        needed = "needed: exactly ${NAME}, in capitals, to read it from your environment; or text without ${"
        return Refused(f"{quoted(value)} is not supported", needed)
    return None


def volume(text: str) -> str:
    """`host:container[:ro]`. Raises Refused for an invalid mount, over the kit's own, or of a container socket."""
    host, target, mode = _parts(text)
    if "$" in text:
        raise Refused(f"{quoted(text)} contains $", "variables are not supported; write the path, ~/ for your home")
    if not target.startswith("/") or mode not in ("", "ro", "rw") or not host:
        raise Refused(f"{quoted(text)} is not a mount", _VOLUME)
    if not host.startswith(("./", "../", "/", "~/")) and not _VOLUME_NAME.fullmatch(host):
        raise Refused(f"{quoted(text)} is not a mount", _VOLUME, f"did you mean ./{text}?" if "/" in host else "")
    if _SOCKET.fullmatch(host) or (host.startswith("/") and _normal(host) in _ALL_SOCKETS):
        raise Refused(f"{quoted(host)} gives the container the whole machine", "mount only what the model needs")
    hidden = next((path for path in PATHS if _overlap(path, _normal(target))), None)
    if hidden:
        raise Refused(f"{quoted(target)} hides the kit's own {hidden}", "mount elsewhere, such as at /data")
    return text


def _parts(text: str) -> tuple[str, str, str]:
    host, _, rest = text.partition(":")
    target, colon, mode = rest.partition(":")
    return host, target, mode or ("?" if colon else "")


def _overlap(one: str, other: str) -> bool:
    """Whether one path contains the other."""
    short, long = sorted((one, other), key=len)
    return short == "/" or long == short or long.startswith(f"{short}/")


def _normal(path: str) -> str:
    """An absolute path without `..`, `.` and doubled slashes."""
    return "/" + posixpath.normpath(path).lstrip("/")
