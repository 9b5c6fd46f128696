"""`render`: the compose file, and the files it mounts."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from kit.assemble import assemble
from kit.errors import KitError, ManifestError
from kit.memory.bill import Plan
from kit.output.console import Output
from kit.project import cards
from kit.project.files import read_text, write_atomically
from kit.project.load import LOCK, Project, located, planned_for, read_project
from kit.stack.render import Keep, Refuse, Rendered, Write, beside, checksum, decide_write, render

COMPOSE = "docker-compose.yaml"
FROM = "printed from manifest "
DIFFERS = 1
WHY = {
    "edited": "it was edited by hand since it was printed",
    "foreign": "it was not printed by monogpu-kit",
}


def run(output: Output, file: Path, gpu: str | None, out: Path | None, target: str, check: bool, force: bool) -> int:
    if target != "compose":
        raise ManifestError(f"--target {target} is not known; needed: compose")
    project = read_project(file)
    rendered = printed(project, gpu)
    if out and str(out) == "-":
        output.out.write(rendered.compose)
        return 0
    path = out or project.folder / COMPOSE
    if check:
        return _check(output, path, rendered)
    for name in write(path, rendered, force):
        output.print(f"wrote {name}")
    return 0


def printed(project: Project, gpu: str | None) -> Rendered:
    """The walk up to the file's text."""
    return rendered_from(project, planned_for(project, cards.for_plan(project, gpu)))


def rendered_from(project: Project, plan: Plan) -> Rendered:
    """A plan as the file's text, with the digest of the manifest that it was printed from."""
    try:
        stack = assemble(plan)
    except KitError as error:
        raise located(error, project.document) from None
    return render(replace(stack, header=(*stack.header, "", f"{FROM}{digest_of(project)}")))


def digest_of(project: Project) -> str:
    """16 hexadecimal digits that change with what the manifest says, not with how it is written, and with the lock."""
    lock = read_text(project.folder / LOCK) or ""
    return checksum(project.manifest.model_dump_json() + lock)


def printed_from(compose: str) -> str | None:
    """The digest of the manifest that a compose file was printed from."""
    found = re.search(rf"^# {FROM}([0-9a-f]{{16}})$", compose, re.MULTILINE)
    return found.group(1) if found else None


def _all(path: Path, rendered: Rendered) -> list[tuple[Path, str, str | None]]:
    """(where, what, checksum recorded for what is there now) of the compose file and of those beside it."""
    recorded = beside(read_text(path) or "")
    files: list[tuple[Path, str, str | None]] = [(path, rendered.compose, None)]
    return files + [(path.parent / f.path, f.text, recorded.get(f.path, "")) for f in rendered.files]


def _check(output: Output, path: Path, rendered: Rendered) -> int:
    stale = [str(where) for where, text, _ in _all(path, rendered) if read_text(where) != text]
    for where in stale:
        output.say(f"{where} differs from what the manifest says; `monogpu-kit render` writes it anew")
    if not stale:
        output.print(f"{path} is what the manifest says")
    return DIFFERS if stale else 0


def write(path: Path, rendered: Rendered, force: bool) -> list[str]:
    """Write what changed; all or nothing is decided before the first byte. Returns the names written."""
    files = _all(path, rendered)
    decisions = [(where, decide_write(read_text(where), text, force, known)) for where, text, known in files]
    refused = [(where, decision) for where, decision in decisions if isinstance(decision, Refuse)]
    if refused:
        where, decision = refused[0]
        raise KitError(
            f"{where} is left alone: {WHY[decision.why]}; move your changes to the manifest, or replace it with --force"
        )
    written = [(where, decision.text) for where, decision in decisions if isinstance(decision, Write)]
    for where, text in reversed(written):
        write_atomically(where, text)
    kept = [str(where) for where, decision in decisions if isinstance(decision, Keep)]
    return [str(where) for where, _ in written] or [f"nothing: {', '.join(kept)} say it already"]
