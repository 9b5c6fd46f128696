"""Rules between the keys of a manifest. Each yields (path, why); all run, whatever the others find."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from kit.errors import KeyPath, dotted
from kit.manifest import managed_args
from kit.manifest.fields import POLICIES, parse_source
from kit.manifest.model import (
    Manifest,
    Model,
    RouterConfig,
)
from kit.manifest.validators import Refused, is_loopback

Found = Iterator[tuple[KeyPath, Refused]]


class EngineRules(Protocol):
    """The rules that an engine adds."""

    PRICED: bool  # whether `memory: auto` is planned; else the manifest must say `memory:`

    def refused(self, models: Sequence[tuple[int, Model]]) -> Iterable[tuple[KeyPath, Refused]]:
        """What this engine cannot serve; `models` are its own, with their indices."""


def broken(manifest: Manifest, engines: Mapping[str, EngineRules]) -> Found:
    """Every broken rule of a manifest whose single values are valid."""
    yield from _router(manifest.router)
    if manifest.router.engine == "vllm-router":
        yield from _one_model(manifest)
    yield from _names(manifest)
    if manifest.gpu.device == "none" and manifest.gpu.mps:
        yield ("gpu", "mps"), Refused("MPS needs a card, and gpu.device is none", "remove one of the two")
    yield from _kubernetes(manifest)
    yield from _engines(manifest, engines)
    for index, model in enumerate(manifest.models):
        for path, reason in _model(model, on_cpu=manifest.gpu.device == "none"):
            yield ("models", index, *path), reason


def _router(router: RouterConfig) -> Found:
    if router.api_key and router.api_key_file:
        yield ("router", "api_key_file"), Refused("api_key is set too", "remove one of the two")
    if not is_loopback(router.bind) and not router.api_key and not router.api_key_file:
        needed = "set router.api_key to the name of a variable, or bind 127.0.0.1"
        yield ("router", "bind"), Refused(f"{router.bind} is open to other machines without an api_key", needed)
    policies = POLICIES[router.engine]
    if router.policy not in policies:
        near = [policy for policy in policies if policy == router.policy.lower().replace("-", "_")]
        hint = f"did you mean '{near[0]}'?" if near else ""
        what = f"'{router.policy}' is not a policy of {router.engine}"
        yield ("router", "policy"), Refused(what, f"needed: one of {', '.join(policies)}", hint)


def _kubernetes(manifest: Manifest) -> Found:
    """Keys of `kubernetes:` that contradict each other, or the card."""
    said, on_cpu = manifest.kubernetes, manifest.gpu.device == "none"
    if said.shape == "deployment-per-model" and said.copies > 1:
        what = f"a Deployment for each model is for one card, and copies is {said.copies}"
        yield ("kubernetes", "shape"), Refused(what, "needed: shape: pod-per-card, or copies: 1")
    if said.autoscaler and said.copies == 1:
        yield (
            ("kubernetes", "autoscaler"),
            Refused("there is one copy to choose from", "set copies to the most that run"),
        )
    if said.gpu not in (None, "none") and on_cpu:
        what = f"gpu: {said.gpu} needs a card, and gpu.device is none"
        yield ("kubernetes", "gpu"), Refused(what, "remove one of the two")
    if said.gpu == "none" and not on_cpu:
        yield ("kubernetes", "gpu"), Refused("the stack is planned for a card", "needed: gpu: {device: none} too")


def _one_model(manifest: Manifest) -> Found:
    """What vllm-router 0.1.17 cannot do."""
    router = manifest.router
    if len(manifest.models) > 1:
        what = f"vllm-router ignores the model of a request, and there are {len(manifest.models)} models"
        yield ("router", "engine"), Refused(what, "needed: engine: smg; or one model, with its replicas")
    for key in ("api_key", "api_key_file"):
        if getattr(router, key):
            yield ("router", key), Refused("vllm-router does not check keys", "needed: engine: smg; or no key")
    for index, model in enumerate(manifest.models):
        if model.engine != "vllm":
            what = f"vllm-router serves vLLM only, and '{model.name}' runs on {model.engine}"
            yield ("models", index, "engine"), Refused(what, "needed: router: {engine: smg}")


def _engines(manifest: Manifest, engines: Mapping[str, EngineRules]) -> Found:
    """The engines' own rules."""
    for name, engine in engines.items():
        mine = [(index, model) for index, model in enumerate(manifest.models) if model.engine == name]
        for index, model in mine if not engine.PRICED else ():
            yield from ((("models", index, key), why) for key, why in _unpriced(model))
        yield from engine.refused(mine)
    if all(model.task == "infer" for model in manifest.models):
        what = "every model has task: infer, and the router needs another one to become ready"
        yield ("models",), Refused(what, "add a model with another task")


def _unpriced(model: Model) -> Iterator[tuple[str, Refused]]:
    """What an engine needs to be given, and cannot be given, when it divides its memory itself."""
    if model.memory == "auto":
        what = f"the memory of a model on {model.engine} cannot be planned"
        yield "memory", Refused(what, "set memory to the whole footprint, such as 4GiB")
    if model.requests == "auto":
        yield "requests", Refused(f"{model.engine} is not planned by the kit", "set a number of requests")
    if model.replicas > 1:
        yield "replicas", Refused(f"{model.engine} serves a model in one process", "needed: replicas: 1")
    if model.graphs in ("full", "small"):
        yield "graphs", Refused(f"{model.engine} chooses CUDA graphs itself", "needed: graphs: auto")


def _names(manifest: Manifest) -> Found:
    """Models and adapters share the router's names; models and their replicas are services."""
    taken: dict[str, str] = {}
    for path, name in _named(manifest):
        if name in taken:
            what = f"'{name}' is also the name of {taken[name]}"
            yield (*path, "name"), Refused(what, "choose another: clients select a model by name")
        taken.setdefault(name, dotted(path))
    for index, model in enumerate(manifest.models):
        for replica in range(2, model.replicas + 1):
            service = f"{model.name}-{replica}"
            if service in taken:
                what = f"replica {replica} of '{model.name}' is the service {service}, and so is {taken[service]}"
                yield ("models", index, "replicas"), Refused(what, "rename one of the two")


def _named(manifest: Manifest) -> Iterator[tuple[KeyPath, str]]:
    for index, model in enumerate(manifest.models):
        yield ("models", index), model.name
        for number, adapter in enumerate(model.adapters):
            yield ("models", index, "adapters", number), adapter.name


def _model(model: Model, *, on_cpu: bool) -> Found:
    yield from _sources(model)
    if model.task == "infer" and model.engine != "triton":
        yield ("task",), Refused(f"{model.engine} has no task infer", "needed: engine: triton")
    if model.adapters and (model.engine != "vllm" or model.task != "generate"):
        needed = "adapters need engine: vllm and task: generate"
        yield (
            ("adapters",),
            Refused(f"{model.engine} with task {model.task} serves no adapters", needed, at_key=True),
        )
    if on_cpu and model.graphs in ("full", "small"):
        yield ("graphs",), Refused(f"'{model.graphs}' needs a card, and gpu.device is none", "needed: auto or off")
    for index, reason in managed_args.arguments(model.engine, model.args):
        yield ("args", index), reason
    for name, value in model.env.items():
        if refused := managed_args.variable(name, value):
            yield ("env", name), refused
    yield from _mounts(model)


def _sources(model: Model) -> Found:
    """Sources of other engines (ollama's NAME:TAG) are checked by their own rules."""
    if model.engine == "vllm":
        yield from _source(("source",), model.source)
    for index, adapter in enumerate(model.adapters):
        yield from _source(("adapters", index, "source"), adapter.source)


def _source(path: KeyPath, text: str) -> Found:
    try:
        parse_source(text)
    except Refused as reason:
        yield path, reason


def _mounts(model: Model) -> Found:
    taken: set[str] = set()
    for index, volume in enumerate(model.volumes):
        target = volume.split(":")[1].rstrip("/")
        if target in taken:
            yield ("volumes", index), Refused(f"a second mount at {target}", "remove one")
        taken.add(target)
