"""What a model's `args`, `env` and `volumes` may not say, because the plan says it: each names the word to use instead.

An engine takes a flag in several spellings: `--max-model-len 8`, `--max-model-len=8`, `--max_model_len`, any beginning
that is unique (`--max-model`), `-tp 2`, `-O0`, `--compilation-config.mode=3`. All of them count.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping

from kit.errors import quoted
from kit.manifest.refused import Refused
from kit.manifest.validators import variable_of

_PLACE = "workers listen where only the router reaches them; write router.bind and router.port"
_LORA = "write the model's adapters:"
_GRAPHS = "write graphs: auto, full, small or off"
_ONE_CARD = "one worker has one card, or replicas: of itself on it"
_TASK = "write task: generate, embed, rerank or classify"
_MEMORY = "write memory: with the whole footprint, such as 4GiB; the plan divides it"

_VLLM = {
    "model": "write source:",
    "served-model-name": "write name:, and adapters: for the names of adapters",
    "revision": "write source: OWNER/NAME@REVISION",
    "host": _PLACE,
    "port": _PLACE,
    "uds": _PLACE,
    "root-path": _PLACE,
    "ssl-keyfile": _PLACE,
    "ssl-certfile": _PLACE,
    "headless": _PLACE,
    "grpc": _PLACE,
    "api-key": "write router.api_key: with the name of a variable; workers need none",
    "hf-token": "write env: {HF_TOKEN: '${HF_TOKEN}'}",
    "gpu-memory-utilization": _MEMORY,
    "kv-cache-memory-bytes": _MEMORY,
    "num-gpu-blocks-override": _MEMORY,
    "max-model-len": "write context:",
    "max-num-seqs": "write requests:",
    "enforce-eager": "write graphs: off",
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
    "config": "write its words as args: here, so that the plan sees them",
    "download-dir": "the kit keeps downloads in a volume; nothing is to be written",
}
# One letter or a few, after one dash; what follows may be joined to it.
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

_CACHES = "the kit mounts its caches at fixed places; leave it out"
_DEVICE = "write gpu.device:"
VARIABLES = {
    "VLLM_PORT": "it would move the worker's inner ports; leave it out",
    "VLLM_API_KEY": "workers have no key of their own; write router.api_key: with the name of a variable",
    "VLLM_CPU_KVCACHE_SPACE": "it overrides the planned KV cache; write memory:",
    "CUDA_VISIBLE_DEVICES": _DEVICE,
    "NVIDIA_VISIBLE_DEVICES": _DEVICE,
    "CUDA_MPS_PIPE_DIRECTORY": "write gpu.mps: true",
    "CUDA_MPS_LOG_DIRECTORY": "write gpu.mps: true",
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
    """(index, why) of every argument that cannot be passed on. What follows a flag is taken for its value."""
    for index, arg in enumerate(args):
        is_flag = re.match(r"--?[A-Za-z]", arg)
        flag = re.split(r"[=\s]", arg)[0]
        if is_flag and (owned := _owned_flag(engine, flag)):
            yield index, _owned_argument(engine, flag, owned)
        elif is_flag and arg[len(flag) : len(flag) + 1].isspace():
            yield index, Refused(f"{quoted(arg)} is one argument", f"needed: {flag} and its value as an item each")
        elif index == 0 and not is_flag:
            yield index, Refused(f"{quoted(arg)} is no flag", "args begin with a flag, such as --trust-remote-code")


def _owned_argument(engine: str, flag: str, owned: str) -> Refused:
    exact = flag.replace("_", "-") == f"--{owned}"
    what = f"{quoted(flag)} is the plan's" if exact else f"{quoted(flag)} means --{owned}, which is the plan's"
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
        return Refused(f"{quoted(name)} is no variable", "needed: letters, digits and _, no digit first", at_word=True)
    if name in VARIABLES:
        secret = _SECRET.fullmatch(name) is not None
        return Refused(f"{name} is the plan's", VARIABLES[name], at_word=True, secret=secret)
    if variable_of(value):
        return None
    if _SECRET.fullmatch(name) and value:
        needed = f"the compose file would hold it; write ${{{name}}} and set {name} in your environment"
        return Refused(f"{name} holds a secret", needed, secret=True)
    if "${" in value or re.fullmatch(r"\$[A-Za-z_]\w*", value):
        needed = (
            "needed: ${NAME}, in capitals, as the whole value: it is read from your environment; or text without ${"
        )
        return Refused(f"{quoted(value)} is not read from the environment", needed)
    return None


def volume(text: str) -> str:
    """`host:container[:ro]`. Raises Refused for what is no mount, hides the kit's own, or hands over the machine."""
    host, target, mode = _parts(text)
    if "$" in text:
        raise Refused(f"{quoted(text)} holds a $", "variables are not read here; write the path, ~/ for your home")
    if not target.startswith("/") or mode not in ("", "ro", "rw") or not host:
        raise Refused(f"{quoted(text)} is no mount", _VOLUME)
    if not host.startswith(("./", "../", "/", "~/")) and not _VOLUME_NAME.fullmatch(host):
        raise Refused(f"{quoted(text)} is no mount", _VOLUME, f"did you mean ./{text}?" if "/" in host else "")
    if _SOCKET.fullmatch(host) or (host.startswith("/") and _normal(host) in _ALL_SOCKETS):
        raise Refused(f"{quoted(host)} hands the whole machine to the container", "mount only what the model needs")
    hidden = next((path for path in PATHS if _overlap(path, _normal(target))), None)
    if hidden:
        raise Refused(f"{quoted(target)} would hide the kit's own {hidden}", "mount elsewhere, such as /data")
    return text


def _parts(text: str) -> tuple[str, str, str]:
    host, _, rest = text.partition(":")
    target, colon, mode = rest.partition(":")
    return host, target, mode or ("?" if colon else "")


def _overlap(one: str, other: str) -> bool:
    """Whether one path lies in the other."""
    short, long = sorted((one, other), key=len)
    return short == "/" or long == short or long.startswith(f"{short}/")


def _normal(path: str) -> str:
    """An absolute path without `..`, `.` and doubled slashes."""
    return "/" + posixpath.normpath(path).lstrip("/")
