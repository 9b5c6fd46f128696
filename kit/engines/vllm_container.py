"""What surrounds the process of a vLLM worker: its variables, its folders, and the caches of its kernels."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from kit.engines.download import CACHE, HF_HOME, environment, mount_of
from kit.manifest.model import Model
from kit.memory.bill import Share
from kit.stack.model import Mount, Value

_SNAPSHOT = re.compile(r"(.*models--[^/]+)/snapshots/([^/]+)/?")


GUARD_FOLDER, GUARD_PATH = "vllm", "/etc/monogpu"
GUARD = Path(__file__).with_name("vllm_guard.py").read_text(encoding="utf-8")


def guarded(model: Model) -> bool:
    """Whether requests that take unplanned memory are refused: of models that generate, unless it is planned."""
    return model.task == "generate" and not model.limits.prompt_logprobs


def _python_path(model: Model) -> str:
    """Where Python finds the guard, before what the model's own `env` adds."""
    return ":".join([GUARD_PATH, *([model.env["PYTHONPATH"]] if "PYTHONPATH" in model.env else [])])


def variables(share: Share, on_cpu: bool) -> tuple[tuple[str, Value], ...]:
    """What the user adds wins, but the Hub's token stays with the download: the worker is offline."""
    ours: dict[str, Value] = {
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
        "HF_HUB_OFFLINE": "1",
        "HF_HOME": HF_HOME,
        # Code that a model brings along is copied before it runs, and the volume is read only.
        "HF_MODULES_CACHE": "/tmp/modules",
        "VLLM_CACHE_ROOT": "/tmp/vllm" if on_cpu else "/root/.cache/vllm",
        # vLLM looks for its address by way of a route to the internet, which the workers' network has not.
        "VLLM_HOST_IP": "127.0.0.1",
    }
    ours |= {"PYTHONPATH": _python_path(share.model)} if guarded(share.model) else {}
    # PyTorch asks who it is; this user has no entry in the image.
    ours |= {"HOME": "/tmp", "USER": "vllm"} if on_cpu else {}
    joined = {"PYTHONPATH"} if guarded(share.model) else set()
    given = {name: value for name, value in environment(share.model).items() if name not in joined}
    return tuple((name, value) for name, value in (ours | given).items() if name != "HF_TOKEN")


def mounts(share: Share, on_cpu: bool, downloads: bool) -> tuple[Mount, ...]:
    """Weights are read only. The compile cache is the worker's own: replicas would write the same folder at once. The
    kernel caches are shared, since their writers lock (FlashInfer) or rename (Triton), and a kernel that one worker
    built at its first start is not built again by the next. On the CPU nothing is compiled. /tmp may hold programs:
    torch loads what it compiles there.
    """
    model = share.model
    caches = (
        Mount("volume", f"compiled-{share.service}", "/root/.cache/vllm"),
        Mount("volume", "flashinfer", "/root/.cache/flashinfer"),
        Mount("volume", "triton", "/root/.triton"),
    )
    return (
        *_folders(share),
        *((Mount("bind", f"./{GUARD_FOLDER}", GUARD_PATH, read_only=True),) if guarded(model) else ()),
        *((replace(CACHE, read_only=True),) if downloads else ()),
        *(() if on_cpu else caches),
        Mount("tmpfs", "size=2147483648,exec", "/tmp"),
        *(mount_of(text) for text in model.volumes),
    )


def _folders(share: Share) -> tuple[Mount, ...]:
    """The folders that the manifest names, by where the worker reads them."""
    model = share.model
    places = {f"/models/{model.name}": model.source_parsed}
    places |= {f"/adapters/{adapter.name}": adapter.source_parsed for adapter in model.adapters}
    folders = [(path, at.place) for path, at in places.items() if at.kind == "folder"]
    return tuple(Mount("bind", served_folder(path, at)[0], path, read_only=True) for path, at in folders)


def served_folder(path: str, place: str) -> tuple[str, str]:
    """(what is mounted at `path`, where the worker finds the model). A snapshot of the Hub's cache holds links into the
    repository's folder, so that is what is mounted."""
    match = _SNAPSHOT.fullmatch(place)
    return (match.group(1), f"{path}/snapshots/{match.group(2)}") if match else (place, path)
