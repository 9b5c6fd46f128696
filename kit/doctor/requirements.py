"""What a manifest needs of the machine that runs it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from kit.engines import ENGINES
from kit.facts.facts import Facts
from kit.manifest.model import Manifest
from kit.manifest.validators import is_loopback, variable_of
from kit.routers import ROUTERS, haproxy


@dataclass(frozen=True)
class Requirements:
    """`card` and `access` are the manifest's gpu.device and gpu.access, None when it serves on the CPU, then `memory`
    is what the models may have of the host's. `images` maps images to what runs in them; `engine_images` are the
    workers'. `repositories` are to be downloaded: place -> bytes of its weights, None where no facts say;
    `folders` are mounted. `variables` maps what must be set to who wants it."""

    project: str = ""
    card: str | None = None
    access: Literal["nvidia", "cdi"] = "nvidia"
    mps: bool = False
    reserve: int | None = None
    memory: int | None = None
    bind: str = "127.0.0.1"
    port: int = 30000
    images: Mapping[str, str] | None = None
    engine_images: tuple[str, ...] = ()
    workers: int = 0
    largest: int | None = None  # bytes of the largest checkpoint, which passes the host's memory while it loads
    repositories: Mapping[str, int | None] | None = None
    folders: tuple[str, ...] = ()
    variables: Mapping[str, str] | None = None
    key: bool = False
    key_file: str | None = None
    user_is_root: bool = True  # of the workers' containers

    @property
    def open(self) -> bool:
        """Whether other machines reach the endpoint."""
        return not is_loopback(self.bind)


def requirements(manifest: Manifest, facts: Mapping[str, Facts]) -> Requirements:
    """`facts` are those that are recorded, by source."""
    on_cpu = manifest.gpu.device == "none"
    router, models = manifest.router, manifest.models
    # Other engines have libraries of their own.
    ours = [model for model in models if model.engine == "vllm"]
    sources = [(model.source, model.source_parsed) for model in ours]
    adapters = [(a.source, a.source_parsed) for model in ours for a in model.adapters]
    sizes = {text: facts[text].checkpoint_bytes for text, _ in sources if text in facts}
    images = _images(manifest)
    return Requirements(
        project=manifest.name,
        card=None if on_cpu else manifest.gpu.device,
        access=manifest.gpu.access,
        mps=manifest.gpu.mps,
        reserve=manifest.gpu.reserve,
        memory=manifest.gpu.memory if on_cpu else None,
        bind=router.bind,
        port=router.port,
        images=images | {_router_image(manifest): "router"} | _front_image(manifest),
        engine_images=tuple(images),
        workers=sum(model.replicas for model in models),
        largest=max(sizes.values()) if sizes and len(sizes) == len(dict(sources)) else None,
        repositories={at.place: sizes.get(text) for text, at in (*sources, *adapters) if at.kind == "hub"},
        folders=tuple(dict.fromkeys(at.place for _, at in (*sources, *adapters) if at.kind == "folder")),
        variables=_variables(manifest),
        key=router.api_key is not None or router.api_key_file is not None,
        key_file=router.api_key_file,
        user_is_root=not on_cpu,
    )


def _front_image(manifest: Manifest) -> dict[str, str]:
    """What stands in front of the router, or of Ollama, where something does."""
    stands = haproxy.needed(manifest) or any(model.engine == "ollama" for model in manifest.models)
    return {haproxy.image(manifest): haproxy.NAME} if stands else {}


def _images(manifest: Manifest) -> dict[str, str]:
    """The workers' images -> the models that they serve."""
    found: dict[str, list[str]] = {}
    for model in manifest.models:
        engine = ENGINES.get(model.engine)
        default = "" if engine is None else engine.CPU_IMAGE if manifest.gpu.device == "none" else engine.DEFAULT_IMAGE
        if image := model.image or default:
            found.setdefault(image, []).append(model.name)
    return {image: ", ".join(names) for image, names in found.items()}


def _router_image(manifest: Manifest) -> str:
    router = ROUTERS.get(manifest.router.engine)
    return manifest.router.image or (router.DEFAULT_IMAGE if router else "")


def _variables(manifest: Manifest) -> dict[str, str]:
    key = manifest.router.api_key
    found = {key: "router.api_key"} if key else {}
    for model in manifest.models:
        for name, value in model.env.items():
            if (variable := variable_of(value)) and variable != "HF_TOKEN":
                found.setdefault(variable, f"{name} of {model.name}")
    return found
