"""What the manifest's words may not say together. Each rule yields (path, why); all run, whatever the others find."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from kit.errors import KeyPath, dotted
from kit.manifest import managed_args
from kit.manifest.fields import POLICIES
from kit.manifest.model import (
    Manifest,
    Model,
    RouterConfig,
)
from kit.manifest.refused import Refused
from kit.manifest.source import parse_source
from kit.manifest.validators import is_loopback

Found = Iterator[tuple[KeyPath, Refused]]


class EngineRules(Protocol):
    """What an engine says of the manifest."""

    PRICED: bool  # whether `memory: auto` is planned; else the manifest says `memory:`

    def refused(self, models: Sequence[tuple[int, Model]]) -> Iterable[tuple[KeyPath, Refused]]:
        """What this engine cannot do of what the manifest asks; `models` are its own, with their places."""


def broken(manifest: Manifest, engines: Mapping[str, EngineRules]) -> Found:
    """Every broken rule of a manifest whose single words are right."""
    yield from _router(manifest.router)
    if manifest.router.engine == "vllm-router":
        yield from _one_model(manifest)
    yield from _names(manifest)
    if manifest.gpu.device == "none" and manifest.gpu.mps:
        yield ("gpu", "mps"), Refused("MPS shares a card, and device: none has none", "remove one of the two")
    yield from _engines(manifest, engines)
    for index, model in enumerate(manifest.models):
        for path, reason in _model(model, on_cpu=manifest.gpu.device == "none"):
            yield ("models", index, *path), reason


def _router(router: RouterConfig) -> Found:
    if router.api_key and router.api_key_file:
        yield ("router", "api_key_file"), Refused("there is an api_key too", "the key comes from one place; remove one")
    if not is_loopback(router.bind) and not router.api_key and not router.api_key_file:
        needed = "anyone could use the models; write api_key: with the name of a variable, or bind 127.0.0.1"
        yield ("router", "bind"), Refused(f"{router.bind} is open to other machines and there is no api_key", needed)
    policies = POLICIES[router.engine]
    if router.policy not in policies:
        near = [policy for policy in policies if policy == router.policy.lower().replace("-", "_")]
        hint = f"did you mean '{near[0]}'?" if near else ""
        what = f"'{router.policy}' is no policy of {router.engine} here"
        yield ("router", "policy"), Refused(what, f"needed: one of {', '.join(policies)}", hint)


def _one_model(manifest: Manifest) -> Found:
    """What vllm-router cannot do (seen with 0.1.17)."""
    router = manifest.router
    if len(manifest.models) > 1:
        what = (
            f"vllm-router sends requests to any worker, whatever their model; there are {len(manifest.models)} models"
        )
        yield ("router", "engine"), Refused(what, "needed: engine: smg; or one model, with its replicas")
    if router.api_key or router.api_key_file:
        what = "vllm-router checks no key of clients, and there is one to check"
        word = "api_key" if router.api_key else "api_key_file"
        yield ("router", word), Refused(what, "needed: engine: smg; or no key, on 127.0.0.1")
    for index, model in enumerate(manifest.models):
        if model.engine != "vllm":
            what = f"vllm-router knows workers of vLLM, and '{model.name}' runs on {model.engine}"
            yield ("models", index, "engine"), Refused(what, "needed: router: {engine: smg}")


def _engines(manifest: Manifest, engines: Mapping[str, EngineRules]) -> Found:
    """What the engines say of their models."""
    for name, engine in engines.items():
        mine = [(index, model) for index, model in enumerate(manifest.models) if model.engine == name]
        for index, model in mine if not engine.PRICED else ():
            yield from ((("models", index, word), why) for word, why in _unpriced(model))
        yield from engine.refused(mine)
    if all(model.task == "infer" for model in manifest.models):
        what = "no model here has a name at the router, which is not ready before it serves one"
        yield ("models",), Refused(what, "needed: a model whose task is not infer beside it")


def _unpriced(model: Model) -> Iterator[tuple[str, Refused]]:
    """What must be said, and what cannot be asked, of an engine that divides its memory by its own rules."""
    if model.memory == "auto":
        what = f"what '{model.name}' takes on {model.engine} is not known before it runs"
        yield "memory", Refused(what, "needed: memory: with the whole footprint, such as 4GiB")
    if model.requests == "auto":
        yield "requests", Refused(f"{model.engine} is not planned by the kit", "needed: a number of requests")
    if model.replicas > 1:
        yield "replicas", Refused(f"{model.engine} serves '{model.name}' in one process", "needed: replicas: 1")
    if model.graphs in ("full", "small"):
        yield "graphs", Refused(f"{model.engine} decides about CUDA graphs itself", "needed: graphs: auto")


def _names(manifest: Manifest) -> Found:
    """Names of models and adapters share the router's list; models and their replicas are services."""
    taken: dict[str, str] = {}
    for path, name in _named(manifest):
        if name in taken:
            what = f"'{name}' is also the name of {taken[name]}"
            yield (*path, "name"), Refused(what, "clients choose by name; each needs its own")
        taken.setdefault(name, dotted(path))
    for index, model in enumerate(manifest.models):
        for replica in range(2, model.replicas + 1):
            service = f"{model.name}-{replica}"
            if service in taken:
                what = f"replica {replica} of '{model.name}' is the service {service}, as is {taken[service]}"
                yield ("models", index, "replicas"), Refused(what, "rename one of the two")


def _named(manifest: Manifest) -> Iterator[tuple[KeyPath, str]]:
    for index, model in enumerate(manifest.models):
        yield ("models", index), model.name
        for number, adapter in enumerate(model.adapters):
            yield ("models", index, "adapters", number), adapter.name


def _model(model: Model, *, on_cpu: bool) -> Found:
    yield from _sources(model)
    if model.task == "infer" and model.engine != "triton":
        yield ("task",), Refused(f"{model.engine} takes and gives no tensors", "needed: engine: triton for task: infer")
    if model.adapters and (model.engine != "vllm" or model.task != "generate"):
        needed = "adapters need engine: vllm and task: generate"
        yield (
            ("adapters",),
            Refused(f"{model.engine} with task {model.task} serves no adapters here", needed, at_word=True),
        )
    if on_cpu and model.graphs in ("full", "small"):
        yield ("graphs",), Refused(f"'{model.graphs}' needs a card, and gpu.device is none", "write auto or off")
    for index, reason in managed_args.arguments(model.engine, model.args):
        yield ("args", index), reason
    for name, value in model.env.items():
        if refused := managed_args.variable(name, value):
            yield ("env", name), refused
    yield from _mounts(model)


def _sources(model: Model) -> Found:
    """Other engines have their own libraries of models (ollama's are NAME:TAG); their modules check them."""
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
            yield ("volumes", index), Refused(f"a second mount at {target}", "a place takes one mount; remove one")
        taken.add(target)
