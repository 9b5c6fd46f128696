"""`render`: write the compose file, and the files that it mounts."""

from __future__ import annotations

from pathlib import Path

from kit.errors import ManifestError
from kit.output.console import Output
from kit.project.load import read_project
from kit.project.write import COMPOSE, printed, stale, write

DIFFERS = 1


def run(output: Output, file: Path, gpu: str | None, out: Path | None, target: str, check: bool, force: bool) -> int:
    if target != "compose":
        raise ManifestError(f"--target {target} is not known; needed: compose")
    project = read_project(file)
    rendered = printed(project, gpu, output.environ)
    path = out or project.folder / COMPOSE
    if str(path) == "-":
        output.out.write(rendered.compose)
    elif not check:
        output.print(*write(path, rendered, force))
    elif differing := stale(path, rendered):
        output.say(*(f"{name} differs from the manifest; `monogpu-kit render` writes it" for name in differing))
        return DIFFERS
    else:
        output.print(f"{path} is what the manifest says")
    return 0
