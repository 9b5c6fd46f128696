"""A plan whose files may be printed into another folder: every path that it names is absolute. Pure."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from kit.manifest.model import Adapter, Model
from kit.memory.bill import Plan


def at_home(plan: Plan, home: Path) -> Plan:
    """The same plan, with paths that began at `home` written out."""
    models = {model.name: _model(model, home) for model in plan.manifest.models}
    router = plan.manifest.router
    if router.api_key_file:
        router = router.model_copy(update={"api_key_file": _path(router.api_key_file, home)})
    manifest = plan.manifest.model_copy(update={"models": tuple(models.values()), "router": router})
    shares = tuple(replace(share, model=models[share.model.name]) for share in plan.shares)
    return replace(plan, manifest=manifest, shares=shares)


def _model(model: Model, home: Path) -> Model:
    adapters = tuple(_adapter(adapter, home) for adapter in model.adapters)
    volumes = tuple(_volume(volume, home) for volume in model.volumes)
    source = _path(model.source, home) if model.source.startswith(".") else model.source
    return model.model_copy(update={"source": source, "adapters": adapters, "volumes": volumes})


def _adapter(adapter: Adapter, home: Path) -> Adapter:
    if not adapter.source.startswith("."):
        return adapter
    return adapter.model_copy(update={"source": _path(adapter.source, home)})


def _volume(volume: str, home: Path) -> str:
    host, colon, rest = volume.partition(":")
    return f"{_path(host, home)}{colon}{rest}" if host.startswith(".") else volume


def _path(path: str, home: Path) -> str:
    return path if path.startswith(("/", "~")) else str((home / path).resolve())
