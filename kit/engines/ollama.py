"""Ollama: one server for all of its models, kept loaded side by side.

A one-shot service with a server of its own pulls the models into a volume, on a network that reaches the library; the
server that answers is on the workers' network and reaches nothing. A model gets the manifest's name by a Modelfile,
printed beside the compose file, which also fixes its context: Ollama's OpenAI endpoint has no parameter for it.

SMG takes a worker that answers /health, and Ollama has no such path (seen with SMG 1.13: its first request is fixed,
whatever --health-check-endpoint says). So HAProxy is in front of Ollama: it answers /health by asking /api/version, and
passes everything else on. Each model is one more host name of this proxy.

What is shared by all models, since one process serves them: the image, how many requests at once, `env`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

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
from kit.routers.haproxy import HEALTH, STATUS_PORT
from kit.routers.haproxy import USER as PROXY_USER
from kit.routers.haproxy import image as proxy_image
from kit.stack.labels import FILES, MODEL, ROLE
from kit.stack.model import EGRESS, WORKERS, Attachment, File, Health, Mount, Probe, Route, Service, Value
from kit.stack.render import checksum, fill

DEFAULT_IMAGE = CPU_IMAGE = "ollama/ollama:0.24.0"
PORT = 11434
METRICS = ""  # it has none: its connections are counted
PRICED = False
NOTE = ""
NAME, PROXY, DOWNLOAD = "ollama", "ollama-proxy", "download-ollama"
FOLDER = "ollama"
CONTEXT = 4096  # Ollama's own default
STORE = Mount("volume", "ollama", "/root/.ollama")

PARALLEL = 1  # requests at once, when the manifest does not say: Ollama's own default
_SHARED = ("image", "requests", "env")
# argv: name, source, ... ; a source "" is a file or folder that the Modelfile names.
_PULL = """\
set -e
ollama serve & server=$!
trap 'kill $server' EXIT
until ollama list > /dev/null 2>&1; do kill -0 $server; sleep 1; done
while [ $# -gt 0 ]; do
  if [ -n "$2" ] && ! ollama show "$2" > /dev/null 2>&1; then ollama pull "$2"; fi
  ollama create "$1" -f "/etc/ollama/$1.modelfile"
  shift 2
done
"""


def refused(models: Sequence[tuple[int, Model]]) -> Iterator[tuple[KeyPath, Refused]]:
    """What `ollama serve` cannot do, and models that disagree about what they share."""
    for index, model in models:
        if model.task not in ("generate", "embed"):
            what = f"Ollama serves no model whose task is {model.task}"
            yield ("models", index, "task"), Refused(what, "needed: task: generate or embed, or engine: vllm")
        if model.args:
            yield (
                ("models", index, "args"),
                Refused("`ollama serve` takes no arguments", "write env: {OLLAMA_...: ...}"),
            )
        if "@" in model.source or any(c.isspace() for c in model.source):
            needed = "needed: NAME:TAG of Ollama's library, hf.co/OWNER/NAME:QUANTISATION, or a .gguf file or folder"
            yield ("models", index, "source"), Refused(f"'{model.source}' is no source of Ollama", needed)
        for word in _SHARED:
            if _shared(model, word) != _shared(models[0][1], word):
                what = f"'{model.name}' and '{models[0][1].name}' are served by one Ollama, with one `{word}`"
                yield ("models", index, word), Refused(what, "needed: the same for all models of engine: ollama")


def price(request: WorkerRequest) -> tuple[Candidate, ...]:
    """The footprint that the manifest fixes. Ollama takes KV cache for every request of full context at its start."""
    context, parallel = _context(request.model), _parallel(request.model)
    why = (
        f"memory: in the manifest; must hold the weights and a KV cache of {context * parallel:,} tokens "
        f"({context:,} of context x {parallel} requests at once), not measured here"
    )
    model = request.model.model_copy(update={"requests": parallel})
    return fixed(replace(request, model=model), context, why)


def service(share: Share, plan: Plan) -> Service:
    """The one server: the same for every share."""
    models = _models(plan)
    return Service(
        name=NAME,
        image=_image(plan),
        entrypoint=("ollama",),
        command=("serve",),
        environment=_environment(models, plan),
        mounts=(STORE, *dict.fromkeys(mount_of(text) for model in models for text in model.volumes)),
        networks=(Attachment(WORKERS),),
        health=Health(("ollama", "list"), retries=6, start_period=share.start_seconds),
        depends_on=((DOWNLOAD, "service_completed_successfully"),),
        restart="unless-stopped",
    )


def downloads(share: Share, plan: Plan) -> tuple[Service, ...]:
    """Pulls what is not there yet, and names it. One for all: two servers would prune each other's downloads."""
    models = _models(plan)
    pulled = [word for model in models for word in (model.name, "" if _is_file(model) else model.source)]
    folders = (Mount("bind", m.source, _inside(m), read_only=True) for m in models if _is_file(m))
    texts = "".join(_modelfile(model) for model in models)
    return (
        Service(
            name=DOWNLOAD,
            comment=("Pulls Ollama's models into a volume, once: the workers' own network reaches nothing outside.",),
            image=_image(plan),
            entrypoint=("/bin/sh", "-c", _PULL, "pull"),
            command=tuple(pulled),
            environment=_environment(models, plan),
            mounts=(STORE, Mount("bind", f"./{FOLDER}", "/etc/ollama", read_only=True), *folders),
            networks=(Attachment(EGRESS),),
            stop_grace=10,
            labels=((ROLE, "download"), (MODEL, ",".join(model.name for model in models)), (FILES, checksum(texts))),
        ),
    )


def proxies(share: Share, plan: Plan) -> tuple[Service, ...]:
    """HAProxy, which answers SMG's health check for Ollama; it has a host name for each model."""
    return (
        Service(
            name=PROXY,
            comment=("Answers /health for Ollama, which has no such path and SMG asks for it; passes the rest on.",),
            image=proxy_image(plan.manifest),
            entrypoint=("haproxy",),
            command=("-f", "/etc/haproxy/haproxy.cfg"),
            mounts=(Mount("bind", f"./{PROXY}", "/etc/haproxy", read_only=True),),
            networks=(Attachment(WORKERS, tuple(_host(model) for model in _models(plan))),),
            health=HEALTH,
            depends_on=((NAME, "service_healthy"),),
            restart="unless-stopped",
            user=PROXY_USER,
            read_only=True,
            labels=((ROLE, "proxy"), (FILES, checksum(proxy_config()))),
        ),
    )


def files(share: Share, plan: Plan) -> tuple[File, ...]:
    """The share's Modelfile, and the proxy's configuration."""
    name = share.model.name
    return (File(f"{FOLDER}/{name}.modelfile", _modelfile(share.model)), File(f"{PROXY}/haproxy.cfg", proxy_config()))


def routes(share: Share) -> tuple[Route, ...]:
    """The model's name, at the proxy."""
    return (Route(PROXY, _host(share.model), PORT, share.model.name),)


def probes(share: Share, plan: Plan) -> tuple[Probe, ...]:
    """The model's name must answer."""
    return (Probe(share.model.name, share.model.task, NAME),)


def _models(plan: Plan) -> list[Model]:
    return [model for model in plan.manifest.models if model.engine == "ollama"]


def _image(plan: Plan) -> str:
    return _models(plan)[0].image or DEFAULT_IMAGE


def _environment(models: Sequence[Model], plan: Plan) -> tuple[tuple[str, Value], ...]:
    """All models stay loaded for ever; the manifest's `env` overrides this, OLLAMA_KEEP_ALIVE for one."""
    ours: dict[str, Value] = {
        "OLLAMA_HOST": f"0.0.0.0:{PORT}",
        "OLLAMA_KEEP_ALIVE": "-1",
        "OLLAMA_MAX_LOADED_MODELS": str(len(models)),
        "OLLAMA_NUM_PARALLEL": str(_parallel(models[0])),
        # Two servers use the volume while one pulls: neither may prune what it does not know.
        "OLLAMA_NOPRUNE": "1",
    }
    return tuple((ours | environment(models[0])).items())


def _parallel(model: Model) -> int:
    """How many requests at once: what the manifest says, else Ollama's default."""
    said = model.requests if "requests" in model.model_fields_set else PARALLEL
    return PARALLEL if said == "auto" else said


def _shared(model: Model, key: str) -> object:
    return _parallel(model) if key == "requests" else getattr(model, key)


def _context(model: Model) -> int:
    return CONTEXT if model.context == "auto" else model.context


def _modelfile(model: Model) -> str:
    source = _inside(model) if _is_file(model) else model.source
    return f"# Printed by monogpu-kit.\nFROM {source}\nPARAMETER num_ctx {_context(model)}\n"


def _is_file(model: Model) -> bool:
    return model.source.startswith(("./", "../", "/", "~/"))


def _inside(model: Model) -> str:
    return f"/models/{model.name}{'.gguf' if model.source.endswith('.gguf') else ''}"


def _host(model: Model) -> str:
    return f"{model.name}.{NAME}"


def proxy_config(resolvers: bool = True) -> str:
    """The proxy's configuration. With `resolvers` its server may get another address while it runs."""
    return fill("ollama-proxy.cfg.j2", server=NAME, port=PORT, status=STATUS_PORT, resolvers=resolvers)
