"""Compose files in tests, without Compose: as it resolved them when they were recorded, or what the kit prints, which
uses few notations.

`pytest --update` records a text that is new. tests/docker/test_resolved.py asks Compose again for every record, and
compares the kit's own examples.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from kit.compose import config
from kit.compose.compose_cli import CliResult, run_compose
from kit.compose.spec import ProjectSpec
from tests.support.paths import RECORDED

RECORDS = RECORDED / "compose-config"
FILE = Path("/srv/p/docker-compose.yaml")
Variables = Mapping[str, str]


def project(text: str, file: Path = FILE, variables: Variables | None = None) -> ProjectSpec:
    """What the kit makes of a compose file with this text."""
    return config.project(config.parse(resolved(text, file, variables or {})), file)


def resolved(text: str, file: Path = FILE, variables: Variables | None = None) -> str:
    """What `docker compose config` prints of it, as recorded."""
    asked = {"text": text, "folder": str(file.parent), "variables": dict(variables or {})}
    path = RECORDS / f"{hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:16]}.json"
    if not path.exists() and "--update" in sys.argv:
        answer = ask(asked)
        assert answer.code == 0, answer.err
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asked | {"config": json.loads(answer.out)}, indent=1) + "\n", encoding="utf-8")
    assert path.exists(), f"{path} is missing; pytest --update records it, and needs Docker Compose\n{text}"
    return json.dumps(json.loads(path.read_text(encoding="utf-8"))["config"])


def ask(recorded: Mapping[str, Any]) -> CliResult:
    """What Compose prints today of what was asked. HOME is another one than anyone has."""
    environ = {"PATH": os.environ["PATH"], **recorded["variables"], "HOME": "/home/me"}
    words = ["-f", "-", "--project-directory", recorded["folder"], "config", "--format", "json"]
    return run_compose(words, Path("/"), environ, recorded["text"])


def printed(text: str, file: Path, variables: Variables | None = None) -> ProjectSpec:
    """What the kit makes of a file that it printed itself."""
    return config.project(as_resolved(text, file.parent, variables or {}), file)


def as_resolved(text: str, folder: Path, variables: Variables) -> dict[str, Any]:
    """The file as Compose would resolve it."""
    found: dict[str, Any] = _replaced(yaml.safe_load(text), variables)
    name = found["name"]
    for kind in ("networks", "volumes"):
        found[kind] = {key: {"name": f"{name}_{key}", **(one or {})} for key, one in found.get(kind, {}).items()}
    lengthen(found)
    for service in found["services"].values():
        if "networks" not in service and "network_mode" not in service:
            service["networks"] = {"default": None}
            found["networks"] = {"default": {"name": f"{name}_default"}, **found["networks"]}
        for mount in service.get("volumes", ()):
            if mount["type"] == "bind":
                mount["source"] = os.path.normpath(folder / Path(mount["source"]).expanduser())
    return found


def lengthen(document: dict[str, Any]) -> None:
    """Write the short notations that the kit prints as the long ones."""
    for service in document["services"].values():
        if isinstance(service.get("networks"), list):
            service["networks"] = dict.fromkeys(service["networks"])
        service["volumes"] = [_mount(one) if isinstance(one, str) else one for one in service.get("volumes", ())]
        service["ports"] = [_port(one) if isinstance(one, str) else one for one in service.get("ports", ())]


def _mount(short: str) -> dict[str, Any]:
    source, target, *mode = short.split(":")
    return {"type": "volume", "source": source, "target": target, "volume": {}} | ({"read_only": True} if mode else {})


def _port(short: str) -> dict[str, Any]:
    host, published, target = short.split(":")
    return {"host_ip": host, "published": published, "target": int(target), "protocol": "tcp"}


def _replaced(value: Any, variables: Variables) -> Any:
    if isinstance(value, Mapping):
        return {key: _replaced(item, variables) for key, item in sorted(value.items())}
    if isinstance(value, list):
        return [_replaced(item, variables) for item in value]
    return _text(value, variables) if isinstance(value, str) else value


def _text(text: str, variables: Variables) -> str:
    def meant(found: re.Match[str]) -> str:
        return "$" if found[0] == "$$" else variables[found[1]] if ":?" in found[2] else variables.get(found[1], "")

    return re.sub(r"\$\$|\$\{(\w+)(:[-?][^}]*)\}", meant, text)
