"""`check`: the walk's first step."""

from __future__ import annotations

from pathlib import Path

from kit.output.console import Output
from kit.project.load import read_project


def run(output: Output, file: Path) -> int:
    manifest = read_project(file).manifest
    if output.as_json:
        output.json({"ok": True, "problems": [], "manifest": manifest.model_dump(mode="json")})
        return 0
    names = ", ".join(name for model in manifest.models for name in (model.name, *(a.name for a in model.adapters)))
    output.print(f"{file}: good: {names} behind {manifest.router.bind}:{manifest.router.port}")
    return 0
