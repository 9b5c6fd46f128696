"""What a manifest needs of a machine, and what the machine lacks for it, with the command that fixes it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kit.doctor import docker, gpu, host, inputs
from kit.doctor.model import Finding, Machine, Requirements
from kit.engines import image_of
from kit.facts.facts import Facts
from kit.manifest.model import Manifest
from kit.manifest.validators import variable_of
from kit.routers import ROUTERS, haproxy

CHECKS = (
    docker.docker,
    docker.compose,
    docker.images,
    gpu.card,
    gpu.access,
    gpu.driver,
    gpu.kernels,
    gpu.holders,
    gpu.compute_mode,
    gpu.mps_daemons,
    gpu.mps_programs,
    gpu.mps_limits,
    host.disk,
    host.memory,
    host.port,
    host.clock,
    host.place,
    inputs.variables,
    inputs.key,
    inputs.dotenv,
    inputs.folders,
    inputs.repositories,
)


def diagnose(machine: Machine, wants: Requirements) -> tuple[Finding, ...]:
    """Every finding, in the order in which things are needed."""
    return tuple(finding for check in CHECKS for finding in check(machine, wants))


def failing(findings: Sequence[Finding]) -> bool:
    """Whether something stops the stack."""
    return any(finding.severity == "fail" for finding in findings)


def requirements(manifest: Manifest, facts: Mapping[str, Facts]) -> Requirements:
    """What a manifest needs of the machine that runs it; `facts` are those that are recorded, by source."""
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
        images=images | {router.image or ROUTERS[router.engine].DEFAULT_IMAGE: "router"} | _proxy_image(manifest),
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


def _proxy_image(manifest: Manifest) -> dict[str, str]:
    """The proxy before the router, or before Ollama, where there is one."""
    needed = haproxy.needed(manifest) or any(model.engine == "ollama" for model in manifest.models)
    return {haproxy.image(manifest): haproxy.NAME} if needed else {}


def _images(manifest: Manifest) -> dict[str, str]:
    """The workers' images, and the models that they serve."""
    found: dict[str, list[str]] = {}
    for model in manifest.models:
        found.setdefault(image_of(model, manifest.gpu.device == "none"), []).append(model.name)
    return {image: ", ".join(names) for image, names in found.items()}


def _variables(manifest: Manifest) -> dict[str, str]:
    key = manifest.router.api_key
    found = {key: "router.api_key"} if key else {}
    for model in manifest.models:
        for name, value in model.env.items():
            if (variable := variable_of(value)) and variable != "HF_TOKEN":
                found.setdefault(variable, f"{name} of {model.name}")
    return found
