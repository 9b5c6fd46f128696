"""vLLM: one process a model, its memory given in bytes.

A worker gets `--kv-cache-memory-bytes`, so that it measures nothing and cannot race with its neighbours, and
`--gpu-memory-utilization` = its footprint over the card's total, which vLLM checks against the free memory before it
loads: a card fuller than planned stops the worker at once.

A worker on the CPU runs without root, on a file system that it cannot write, with /tmp for everything. On a card it
runs as root without any capability and may write its container's own files: NVIDIA's CDI hook fails on a read-only
root (kserve/kserve#5711), and the caches that make the second start fast lie under /root in the official image.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from kit.engines.defaults import nothing
from kit.engines.download import CACHE, HF_HOME, adapter_folder, download, environment, mount_of
from kit.engines.pooling import ranks_by_vectors
from kit.errors import KeyPath
from kit.manifest.model import Adapter, Model, Source
from kit.manifest.validators import Refused
from kit.memory import arguments
from kit.memory.bill import Plan, Share
from kit.memory.candidates import price as price
from kit.memory.flags import read_flags, switched_off
from kit.memory.lora import served_rank
from kit.memory.vllm_versions import NEWEST, OLDEST, unsupported
from kit.stack.model import WORKERS, Attachment, Health, Mount, Probe, Route, Service, Value, http_check
from kit.units import GIB, release_text

DEFAULT_IMAGE = "vllm/vllm-openai:v0.26.0"
CPU_IMAGE = "monogpu/vllm-cpu:0.32.0"
PORT = 8000
METRICS = f"{PORT}/metrics"
PRICED = True
NOTE = ""
USER = "65532:65532"
_SNAPSHOT = re.compile(r"(.*models--[^/]+)/snapshots/([^/]+)/?")

proxies = files = nothing


def refused(models: Sequence[tuple[int, Model]]) -> Iterator[tuple[KeyPath, Refused]]:
    """Versions that are not planned for, and arguments whose bytes are not known."""
    for index, model in models:
        if outside := unsupported(model.image or ""):
            what = f"vLLM {release_text(outside)} is not planned for"
            needed = f"needed: a tag from v{release_text(OLDEST)} to v{release_text(NEWEST)}"
            yield ("models", index, "image"), Refused(what, needed)
        yield from ((("models", index, *path), why) for path, why in arguments.refused(model))


def service(share: Share, plan: Plan) -> Service:
    """The worker: reached by the router alone, under its own name and one more for each adapter."""
    hosts = tuple(_host(adapter, share) for adapter in share.model.adapters)
    return Service(
        name=share.service,
        image=_image(share, plan),
        command=_command(share, plan),
        environment=_environment(share, plan),
        mounts=_mounts(share, plan),
        networks=(Attachment(WORKERS, hosts),),
        health=Health(http_check(PORT, "/health"), retries=6, start_period=share.start_seconds),
        depends_on=tuple((one.name, "service_completed_successfully") for one in downloads(share, plan)),
        # A worker whose engine dies ends with 0 (vllm-project/vllm#48966), and must come back after a reboot too. All
        # start at once then: caches are given in bytes, and who keeps none and measures at worst ends and starts again.
        restart="unless-stopped",
        shm_bytes=GIB,
        user=USER if _on_cpu(plan) else None,
        read_only=_on_cpu(plan),
    )


def downloads(share: Share, plan: Plan) -> tuple[Service, ...]:
    """Downloads of the model and of its adapters, where they are not folders. They use the worker's own image."""
    model, source, image = share.model, _source(share), _image(share, plan)
    adapters = [(adapter.source_parsed, adapter_folder(adapter)) for adapter in model.adapters]
    return (
        *((download(model, image, source),) if source.kind == "hub" else ()),
        *(download(model, image, one, folder) for one, folder in adapters if one.kind == "hub"),
    )


def routes(share: Share) -> tuple[Route, ...]:
    """The model's name, and each adapter's: SMG tells workers apart by host name, so an adapter has one of its own."""
    adapters = (Route(share.service, _host(adapter, share), PORT, adapter.name) for adapter in share.model.adapters)
    return (Route(share.service, share.service, PORT, share.model.name), *adapters)


def probes(share: Share) -> tuple[Probe, ...]:
    """Every name must answer; an adapter otherwise than its base."""
    model = share.model
    adapters = (Probe(adapter.name, model.task, share.service, base=model.name) for adapter in model.adapters)
    return (Probe(model.name, model.task, share.service), *adapters)


def _on_cpu(plan: Plan) -> bool:
    return plan.gpu.kind == "host"


def _image(share: Share, plan: Plan) -> str:
    return share.model.image or (CPU_IMAGE if _on_cpu(plan) else DEFAULT_IMAGE)


def _host(adapter: Adapter, share: Share) -> str:
    return f"{adapter.name}.{share.service}"


def _source(share: Share) -> Source:
    """Where the weights are: at the manifest's revision, else at the one that the facts were read from."""
    source = share.model.source_parsed
    found = share.facts.revision if share.facts else None
    return source if source.kind == "folder" else replace(source, revision=source.revision or found)


def _command(share: Share, plan: Plan) -> tuple[str, ...]:
    """The image's entry point is `vllm serve`: the model comes first, the user's own arguments last."""
    cpu = _on_cpu(plan)
    gate = () if cpu or share.utilization is None else ("--gpu-memory-utilization", share.utilization)
    cache = ("--kv-cache-memory-bytes", str(share.kv_bytes)) if share.kv_bytes else ()
    return (
        *_model(share),
        "--served-model-name", share.model.name,
        "--host", "0.0.0.0",
        "--port", str(PORT),
        *_pooling(share),
        "--max-model-len", str(share.context),
        "--max-num-seqs", str(share.requests),
        "--max-num-batched-tokens", str(share.batched_tokens),
        *cache,
        *gate,
        *_graphs(share, cpu),
        *_lora(share),
        *_images(share),
        "--disable-access-log-for-endpoints", "/health,/metrics",
        *share.model.args,
    )  # fmt: skip


def _model(share: Share) -> tuple[str, ...]:
    source = _source(share)
    if source.kind == "folder":
        return (_served_folder(f"/models/{share.model.name}", source.place)[1],)
    return (source.place, "--revision", source.revision) if source.revision else (source.place,)


def _pooling(share: Share) -> tuple[str, ...]:
    """What is made of the model: vectors, or what its head says."""
    task = share.model.task
    if task == "generate" or share.facts is None:
        return ()
    if share.facts and share.facts.architecture.endswith("ForRanking"):
        return ("--runner", "pooling")
    vectors = task == "embed" or ranks_by_vectors(share.model, share.facts)
    return ("--runner", "pooling", "--convert", "embed" if vectors else "classify")


def _graphs(share: Share, cpu: bool) -> tuple[str, ...]:
    if cpu or share.graphs == "off":
        return ("--enforce-eager",)
    sizes = [str(size) for size in share.capture_sizes]
    return ("--cudagraph-capture-sizes", *sizes) if sizes else ()


def _images(share: Share) -> tuple[str, ...]:
    """The largest image that was priced; larger ones are scaled down to it."""
    encoder = share.facts.encoder if share.facts else None
    text_only = {"image", "video"} <= set(switched_off(read_flags(share.model.args)))
    if encoder is None or not share.image_tokens or text_only:
        return ()
    return ("--mm-processor-kwargs", json.dumps({"max_pixels": share.image_tokens * encoder.unit}))


def _lora(share: Share) -> tuple[str, ...]:
    """As many slots as adapters, so that none is swapped; JSON, because a path may hold a `=`."""
    adapters = share.model.adapters
    if not adapters:
        return ()
    modules = [
        json.dumps({"name": a.name, "path": _adapter_path(a), "base_model_name": share.model.name}) for a in adapters
    ]
    rank = ("--max-lora-rank", str(served_rank(share.lora_rank))) if share.lora_rank else ()
    return ("--enable-lora", "--max-loras", str(len(adapters)), *rank, "--lora-modules", *modules)


def _adapter_path(adapter: Adapter) -> str:
    source = adapter.source_parsed
    if source.kind != "folder":
        return adapter_folder(adapter)
    return _served_folder(f"/adapters/{adapter.name}", source.place)[1]


def _environment(share: Share, plan: Plan) -> tuple[tuple[str, Value], ...]:
    """What the user adds wins, but the Hub's token stays with the download: the worker is offline."""
    ours: dict[str, Value] = {
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
        "HF_HUB_OFFLINE": "1",
        "HF_HOME": HF_HOME,
        # Code that a model brings along is copied before it runs, and the volume is read only.
        "HF_MODULES_CACHE": "/tmp/modules",
        "VLLM_CACHE_ROOT": "/tmp/vllm" if _on_cpu(plan) else "/root/.cache/vllm",
        # vLLM looks for its address by way of a route to the internet, which the workers' network has not.
        "VLLM_HOST_IP": "127.0.0.1",
    }
    # PyTorch asks who it is; this user has no entry in the image.
    ours |= {"HOME": "/tmp", "USER": "vllm"} if _on_cpu(plan) else {}
    return tuple((name, value) for name, value in (ours | environment(share.model)).items() if name != "HF_TOKEN")


def _mounts(share: Share, plan: Plan) -> tuple[Mount, ...]:
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
        *((replace(CACHE, read_only=True),) if downloads(share, plan) else ()),
        *(() if _on_cpu(plan) else caches),
        Mount("tmpfs", "size=2147483648,exec", "/tmp"),
        *(mount_of(text) for text in model.volumes),
    )


def _folders(share: Share) -> tuple[Mount, ...]:
    """The folders that the manifest names, by where the worker reads them."""
    model = share.model
    places = {f"/models/{model.name}": model.source_parsed}
    places |= {f"/adapters/{adapter.name}": adapter.source_parsed for adapter in model.adapters}
    folders = [(path, at.place) for path, at in places.items() if at.kind == "folder"]
    return tuple(Mount("bind", _served_folder(path, at)[0], path, read_only=True) for path, at in folders)


def _served_folder(path: str, place: str) -> tuple[str, str]:
    """(what is mounted at `path`, where the worker finds the model). A snapshot of the Hub's cache holds links into the
    repository's folder, so that is what is mounted."""
    match = _SNAPSHOT.fullmatch(place)
    return (match.group(1), f"{path}/snapshots/{match.group(2)}") if match else (place, path)
