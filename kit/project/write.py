"""The compose file of a project and the files that it mounts: printed from the manifest, written where changed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from kit.assemble import assemble
from kit.errors import KitError
from kit.files import read_text, write_atomically
from kit.memory.bill import Plan
from kit.project.load import LOCK, Project, card_for_plan, located, planned_for
from kit.stack.render import Rendered, beside, checksum, decide_write, render

COMPOSE = "docker-compose.yaml"
FROM = "printed from manifest "
WHY = {
    "edited": "it was edited by hand since it was printed",
    "foreign": "it was not printed by monogpu-kit",
}


def printed(project: Project, gpu: str | None, environ: Mapping[str, str]) -> Rendered:
    """The project's files, planned for the card that `gpu` names."""
    return rendered_from(project, planned_for(project, card_for_plan(project, gpu, environ)))


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


def stale(path: Path, rendered: Rendered) -> list[Path]:
    """The files on disk that differ from `rendered`."""
    return [where for where, text, _ in _all(path, rendered) if read_text(where) != text]


def write(path: Path, rendered: Rendered, force: bool) -> list[str]:
    """Write the files that changed, and return a line for each. Nothing is written unless all may be replaced."""
    files = _all(path, rendered)
    decisions = [(where, text, decide_write(read_text(where), text, force, known)) for where, text, known in files]
    for where, _, decision in decisions:
        if decision in WHY:
            what = f"{where} is left alone: {WHY[decision]}"
            raise KitError(f"{what}; move your changes to the manifest, or replace it with --force")
    written = [(where, text) for where, text, decision in decisions if decision == "write"]
    for where, text in reversed(written):
        write_atomically(where, text)
    return [f"wrote {where}" for where, _ in written] or [f"unchanged: {', '.join(str(where) for where, *_ in files)}"]
