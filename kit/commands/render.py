"""`render`: write the compose file, and the files that it mounts."""

from __future__ import annotations

from pathlib import Path

from kit.errors import ManifestError
from kit.output.console import Output
from kit.project.load import Project, read_project
from kit.project.write import COMPOSE, printed, stale, write
from kit.stack.render import Rendered

DIFFERS = 1


def run(output: Output, file: Path, gpu: str | None, out: Path | None, target: str, check: bool, force: bool) -> int:
    project = read_project(file)
    path, rendered = _targets(target, project, gpu, output)
    path = out or path
    if str(path) == "-":
        output.out.write(rendered.compose)
    elif not check:
        output.print(*write(path, rendered, force))
    elif differing := stale(path, rendered):
        output.say(*(f"{name} differs from the manifest; `{_command(target)}` writes it" for name in differing))
        return DIFFERS
    else:
        output.print(f"{path} is what the manifest says")
    return 0


def _targets(target: str, project: Project, gpu: str | None, output: Output) -> tuple[Path, Rendered]:
    """Where a target's first file is, and what is printed."""
    if target == "compose":
        return project.folder / COMPOSE, printed(project, gpu, output.environ)
    if target == "kubernetes":
        from kit.kubernetes.render import FILE, FOLDER, printed_kubernetes

        return project.folder / FOLDER / FILE, printed_kubernetes(project, gpu, output.environ)
    raise ManifestError(f"--target {target} is not known; needed: compose or kubernetes")


def _command(target: str) -> str:
    return "monogpu-kit render" if target == "compose" else f"monogpu-kit render --target {target}"
