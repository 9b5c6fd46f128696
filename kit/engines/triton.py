"""Triton: one server a model, with a model repository that is printed beside the compose file.

`source` is the folder of one version: model.py for the Python backend, model.onnx, model.plan, model.pt. It is mounted
as version 1; config.pbtxt is printed. Triton reads from the files which backend serves them, and what goes in and out
(model.py says it in auto_complete_config). The server starts with --model-control-mode=explicit and its one model: its
own API (/v2/repository) unloads the model and loads it again while it runs.

Clients speak Triton's own protocol, /v2/models/NAME/infer, which SMG does not route: a model has `task: infer`, and
HAProxy in front of the router sends these paths to it. What loads and unloads is reached on the workers' network alone,
so that no client takes a model away. The OpenAI front end of the images whose tag ends in -vllm-python-py3 loads
models without the explicit mode, so it is not started here.

Triton runs as root without any capability and may write its container's own files, on the CPU too: it gives its Python
backend's program the permission to execute each time it starts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kit.engines.defaults import nothing
from kit.engines.download import environment, mount_of
from kit.errors import KeyPath
from kit.manifest.model import Model
from kit.manifest.validators import Refused
from kit.memory.bill import Plan, Share
from kit.memory.candidates import (
    Candidate,
    WorkerRequest,
    fixed,
)
from kit.stack.labels import FILES
from kit.stack.model import WORKERS, Attachment, File, Mount, Probe, Route, Service, http_health
from kit.stack.render import checksum
from kit.units import GIB

DEFAULT_IMAGE = "nvcr.io/nvidia/tritonserver:26.01-py3"
CPU_IMAGE = "monogpu/triton-cpu:2.51.0"
PORT = 8000
METRICS = "8002/metrics"
PRICED = False
NOTE = (
    "no router here speaks Triton's protocol: HAProxy in front of it sends /v2/models/NAME/ there; /v1/models is silent"
)
FOLDER = "triton"

_WHY = "memory: in the manifest; Triton's backends divide it by their own rules, not measured here"
_OWNED = {
    "model-repository": "write source:, a folder with one version of the model",
    "model-store": "write source:, a folder with one version of the model",
    "model-control-mode": "it is explicit: Triton's API loads and unloads",
    "load-model": "write source:, a folder with one version of the model",
    "http-port": "the kit's health check asks there; leave it out",
    "http-address": "the router's network reaches it; leave it out",
    "allow-http": "the kit's health check asks there; leave it out",
}
_CONFIG = """\
# Printed by monogpu-kit. What is not here, Triton takes from the model's own files: the backend, inputs and outputs.
name: "{name}"
instance_group [
  {{ kind: {kind}, count: 1 }}
]
"""


downloads = proxies = nothing


def refused(models: Sequence[tuple[int, Model]]) -> Iterator[tuple[KeyPath, Refused]]:
    """A source that is no folder, another task, and arguments that the kit gives itself."""
    for index, model in models:
        if not model.source.startswith(("./", "../", "/", "~/")):
            needed = "needed: a folder with one version: model.py, model.onnx, model.plan or model.pt"
            yield (
                ("models", index, "source"),
                Refused(f"Triton downloads nothing, and '{model.source}' is no folder", needed),
            )
        if model.task != "infer":
            what = f"Triton's models take and give tensors, and '{model.name}' is to {model.task}"
            yield ("models", index, "task"), Refused(what, "needed: task: infer")
        for number, arg in enumerate(model.args):
            flag = arg.removeprefix("--").partition("=")[0]
            if arg.startswith("--") and flag in _OWNED:
                yield ("models", index, "args", number), Refused(f"--{flag} is the kit's", _OWNED[flag])


def price(request: WorkerRequest) -> tuple[Candidate, ...]:
    """The footprint that the manifest fixes."""
    return fixed(request, 0 if request.model.context == "auto" else request.model.context, _WHY)


def service(share: Share, plan: Plan) -> Service:
    """One server with one model."""
    model = share.model
    return Service(
        name=share.service,
        image=model.image or (CPU_IMAGE if plan.gpu.kind == "host" else DEFAULT_IMAGE),
        command=(
            "tritonserver",
            "--model-repository=/models",
            "--model-control-mode=explicit",
            f"--load-model={model.name}",
            f"--http-port={PORT}",
            *model.args,
        ),
        environment=tuple(environment(model).items()),
        mounts=(
            Mount("bind", f"./{_path(model)}", f"/models/{model.name}/config.pbtxt", read_only=True),
            Mount("bind", model.source, f"/models/{model.name}/1", read_only=True),
            Mount("tmpfs", "size=268435456", "/tmp"),
            *(mount_of(text) for text in model.volumes),
        ),
        networks=(Attachment(WORKERS),),
        # It answers once its model is loaded; /v2/health/ready fails also where a model was unloaded on purpose.
        health=http_health(PORT, "/v2/health/live", retries=6, start_period=share.start_seconds),
        restart="unless-stopped",
        # The Python backend hands tensors over there.
        shm_bytes=GIB,
        labels=((FILES, checksum(_config(model, plan))),),
    )


def files(share: Share, plan: Plan) -> tuple[File, ...]:
    """The model's config.pbtxt; its version lies where `source` says."""
    return (File(_path(share.model), _config(share.model, plan)),)


def routes(share: Share) -> tuple[Route, ...]:
    """No router here speaks Triton's protocol; HAProxy in front knows it by its task."""
    return ()


def probes(share: Share, plan: Plan) -> tuple[Probe, ...]:
    """Its name must give tensors."""
    return (Probe(share.model.name, "infer", share.service),)


def _path(model: Model) -> str:
    return f"{FOLDER}/{model.name}/config.pbtxt"


def _config(model: Model, plan: Plan) -> str:
    return _CONFIG.format(name=model.name, kind="KIND_CPU" if plan.gpu.kind == "host" else "KIND_GPU")
