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
from collections.abc import Iterator, Sequence
from dataclasses import replace

from kit.engines import vllm_parsers
from kit.engines.defaults import nothing
from kit.engines.download import adapter_folder, download
from kit.engines.pooling import ranks_by_vectors
from kit.engines.vllm_container import GUARD, GUARD_FOLDER, guarded, mounts, served_folder, variables
from kit.engines.vllm_parsers import ModelParsers, parsers_of
from kit.errors import KeyPath
from kit.manifest.model import Adapter, Model, Source, variable_of
from kit.manifest.validators import Refused
from kit.memory import arguments
from kit.memory.bill import Plan, Share
from kit.memory.candidates import price as price
from kit.memory.flags import read_flags, switched_off
from kit.memory.lora import served_rank
from kit.memory.vllm_versions import NEWEST, OLDEST, planned_version, unsupported
from kit.stack.labels import TOOLS
from kit.stack.model import WORKERS, Attachment, File, Probe, Route, Service, http_health
from kit.units import GIB, release_text

DEFAULT_IMAGE = "vllm/vllm-openai:v0.26.0"
CPU_IMAGE = "monogpu/vllm-cpu:0.32.0"
PORT = 8000
METRICS = f"{PORT}/metrics"
PRICED = True
NOTE = ""
USER = "65532:65532"

proxies = nothing


def refused(models: Sequence[tuple[int, Model]]) -> Iterator[tuple[KeyPath, Refused]]:
    """Versions that are not planned for, and arguments whose bytes are not known."""
    for index, model in models:
        if outside := unsupported(model.image or ""):
            what = f"vLLM {release_text(outside)} is not planned for"
            needed = f"needed: a tag from v{release_text(OLDEST)} to v{release_text(NEWEST)}"
            yield ("models", index, "image"), Refused(what, needed)
        yield from ((("models", index, *path), why) for path, why in arguments.refused(model))
        if guarded(model) and variable_of(model.env.get("PYTHONPATH", "")):
            why = "the kit's own folder stands before it: write the folders themselves"
            yield ("models", index, "env", "PYTHONPATH"), Refused("PYTHONPATH is read from the environment", why)
        version = planned_version(model.image or "")
        yield from ((("models", index, key), why) for key, why in vllm_parsers.refused(model, version))


def service(share: Share, plan: Plan) -> Service:
    """The worker: reached by the router alone, under its own name and one more for each adapter."""
    hosts = tuple(_host(adapter, share) for adapter in share.model.adapters)
    return Service(
        name=share.service,
        image=_image(share, plan),
        command=_command(share, plan),
        environment=variables(share, _on_cpu(plan)),
        mounts=mounts(share, _on_cpu(plan), bool(downloads(share, plan))),
        networks=(Attachment(WORKERS, hosts),),
        health=http_health(PORT, "/health", retries=6, start_period=share.start_seconds),
        depends_on=tuple((one.name, "service_completed_successfully") for one in downloads(share, plan)),
        # A worker whose engine dies ends with 0 (vllm-project/vllm#48966), and must come back after a reboot too. All
        # start at once then: caches are given in bytes, and who keeps none and measures at worst ends and starts again.
        restart="unless-stopped",
        shm_bytes=GIB,
        user=USER if _on_cpu(plan) else None,
        read_only=_on_cpu(plan),
        labels=((TOOLS, share.model.name),) if parsers(share, plan).tools else (),
    )


def downloads(share: Share, plan: Plan) -> tuple[Service, ...]:
    """Downloads of the model and of its adapters, where they are not folders. They use the worker's own image."""
    model, source, image = share.model, _source(share), _image(share, plan)
    adapters = [(adapter.source_parsed, adapter_folder(adapter)) for adapter in model.adapters]
    return (
        *((download(model, image, source),) if source.kind == "hub" else ()),
        *(download(model, image, one, folder) for one, folder in adapters if one.kind == "hub"),
    )


def files(share: Share, plan: Plan) -> tuple[File, ...]:
    """The guard of a worker that refuses what was not planned."""
    return (File(f"{GUARD_FOLDER}/vllm_guard.py", GUARD),) if guarded(share.model) else ()


def routes(share: Share) -> tuple[Route, ...]:
    """The model's name, and each adapter's: SMG tells workers apart by host name, so an adapter has one of its own."""
    adapters = (Route(share.service, _host(adapter, share), PORT, adapter.name) for adapter in share.model.adapters)
    return (Route(share.service, share.service, PORT, share.model.name), *adapters)


def probes(share: Share, plan: Plan) -> tuple[Probe, ...]:
    """Every name must answer; an adapter otherwise than its base."""
    model, tools = share.model, parsers(share, plan).tools is not None
    adapters = (Probe(each.name, model.task, share.service, model.name, tools) for each in model.adapters)
    return (Probe(model.name, model.task, share.service, tools=tools), *adapters)


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
        *vllm_parsers.arguments(parsers(share, plan)),
        *(("--middleware", "vllm_guard.Guard") if guarded(share.model) else ()),
        "--disable-access-log-for-endpoints", "/health,/metrics",
        *share.model.args,
    )  # fmt: skip


def parsers(share: Share, plan: Plan) -> ModelParsers:
    """What reads the worker's tool calls and its reasoning."""
    return parsers_of(share.model, share.facts, planned_version(_image(share, plan)))


def _model(share: Share) -> tuple[str, ...]:
    source = _source(share)
    if source.kind == "folder":
        return (served_folder(f"/models/{share.model.name}", source.place)[1],)
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
    return served_folder(f"/adapters/{adapter.name}", source.place)[1]
