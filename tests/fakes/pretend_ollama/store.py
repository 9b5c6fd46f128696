"""The models on disk, so that a server that starts later finds what another one pulled."""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Made:
    """A model: where it came from, and its Modelfile's parameters."""

    name: str
    origin: str
    parameters: dict[str, Any] = field(default_factory=dict)
    modified: str = field(default_factory=lambda: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))

    @property
    def digest(self) -> str:
        return hashlib.sha256(json.dumps([self.origin, self.parameters]).encode()).hexdigest()


def full(name: str) -> str:
    """`chat` is `chat:latest`."""
    return name if ":" in name.rpartition("/")[2] else f"{name}:latest"


def folder() -> Path:
    return Path.home() / ".ollama" / "models"


def keep(made: Made) -> None:
    folder().mkdir(parents=True, exist_ok=True)
    path = folder() / f"{hashlib.sha256(made.name.encode()).hexdigest()}.json"
    path.with_suffix(".part").write_text(json.dumps(asdict(made)))
    path.with_suffix(".part").replace(path)


def everything() -> list[Made]:
    return sorted((Made(**json.loads(p.read_text())) for p in folder().glob("*.json")), key=lambda made: made.name)


def find(name: str) -> Made | None:
    return next((made for made in everything() if made.name == full(name)), None)


def forget(name: str) -> None:
    for path in folder().glob("*.json"):
        if json.loads(path.read_text())["name"] == full(name):
            path.unlink()
