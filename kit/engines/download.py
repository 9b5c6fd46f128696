"""Where an engine's weights come from: a folder, mounted; or a Hugging Face repository, downloaded once by a one-shot
service on a network that reaches the Hub, because the workers' network reaches nothing."""

from __future__ import annotations

import re

from kit.manifest.model import Adapter, Model, Source, variable_of
from kit.stack.labels import MODEL, ROLE
from kit.stack.model import EGRESS, Attachment, Mount, Secret, Service, Value

HF_HOME = "/cache/huggingface"  # outside /root, where a worker without root may not look
CACHE = Mount("volume", "huggingface", HF_HOME)

# The weights as safetensors, once; whatever a tokenizer needs; and code, for models that bring their own.
_KEEP = "*.safetensors *.json *.jinja *.model *.tiktoken *.txt *.py"
_SKIP = "original/* consolidated* onnx/* openvino/* coreml/*"
_DOWNLOAD = (
    "from sys import argv; from huggingface_hub import snapshot_download as get; "
    "get(argv[1], revision=argv[2] or None, local_dir=argv[3] or None, "
    "allow_patterns=argv[4].split(), ignore_patterns=argv[5].split())"
)
# What all downloads repeat, by the names under which it is printed once.
TEXTS = (("download-script", _DOWNLOAD), ("download-allow", _KEEP), ("download-ignore", _SKIP))
_OURS = {"HOME": "/tmp", "HF_HOME": HF_HOME, "DO_NOT_TRACK": "1"}
_TOKEN = Secret("HF_TOKEN", "a token that may read gated repositories", required=False)


def download(model: Model, image: str, source: Source, folder: str = "") -> Service:
    """The one-shot service that downloads `source`, named after what it downloads, so models that share a repository
    share it. When the files are there already it is done at once, also without a network."""
    slug = re.sub(r"[^a-z0-9]+", "-", f"{source.place}-{(source.revision or '')[:12]}".lower()).strip("-")
    # What of the model's `env` a download needs: tokens, mirrors, proxies.
    wanted = re.compile(r"HF_|.*_PROXY$", re.IGNORECASE)
    given = {name: value for name, value in environment(model).items() if wanted.match(name)}
    return Service(
        name=f"download-{slug}",
        comment=(f"Downloads {source.place} into a volume, once: the workers' own network reaches nothing outside.",),
        image=image,
        entrypoint=("python3",),
        command=("-c", _DOWNLOAD, source.place, source.revision or "", folder, _KEEP, _SKIP),
        environment=tuple({**_OURS, "HF_TOKEN": _TOKEN, **given}.items()),
        mounts=(CACHE, Mount("tmpfs", "size=268435456", "/tmp")),
        networks=(Attachment(EGRESS),),
        stop_grace=10,
        read_only=True,
        labels=((ROLE, "download"), (MODEL, model.name)),
    )


def adapter_folder(adapter: Adapter) -> str:
    """Where a downloaded adapter lies: not in the Hub's cache, whose paths depend on what a revision resolves to."""
    return f"{HF_HOME}/adapters/{adapter.source}"


def environment(model: Model) -> dict[str, Value]:
    """The model's `env`; a value `${NAME}` is a Secret."""
    return {name: _value(name, text, model) for name, text in model.env.items()}


def mount_of(text: str) -> Mount:
    """`host:container[:ro]`, as the manifest's `volumes` are written; a host part that is no path names a volume."""
    source, target, *mode = text.split(":")
    return Mount("bind" if source.startswith((".", "/", "~")) else "volume", source, target, mode == ["ro"])


def _value(name: str, text: str, model: Model) -> Value:
    variable = variable_of(text)
    return Secret(variable, f"{name} of the model {model.name}, in the environment or in .env") if variable else text
