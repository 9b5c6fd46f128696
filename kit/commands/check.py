"""`check`: read the manifest."""

from __future__ import annotations

from pathlib import Path

from kit.output.console import Output
from kit.project.load import check_files, read_project


def run(output: Output, file: Path) -> int:
    project = read_project(file)
    manifest = project.manifest
    check_files(project)
    names = ", ".join(name for model in manifest.models for name in (model.name, *(a.name for a in model.adapters)))
    good = f"{file}: good: {names} behind {manifest.router.bind}:{manifest.router.port}"
    output.show({"ok": True, "problems": [], "manifest": manifest.model_dump(mode="json")}, good)
    return 0
