"""`up`: render where needed, ask the card once, drive the file on disk, compare the footprints, verify."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kit import labels
from kit.admission import Promise, no_room, wrong_card
from kit.errors import TargetError
from kit.footprints import Footprint, compare
from kit.gpu import Gpu
from kit.render import is_ours
from kit.report.watch import Watcher
from kit.targets import compose, inside
from kit.targets.spec import ProjectSpec
from kit.verbs.files import read_text
from kit.verbs.inputs import LIVE, Project, choose_gpu, read_project
from kit.verbs.output import Output
from kit.verbs.render import COMPOSE, digest_of, printed, printed_from, write

if TYPE_CHECKING:
    from docker import DockerClient

STARTS = ("create", "replace", "start", "restart")


@dataclass(frozen=True)
class Session:
    """What one `up` works with."""

    output: Output
    project: Project
    client: DockerClient
    gpu: str | None


def run(output: Output, file: Path, gpu: str | None, verify: bool, timeout: float, dry_run: bool) -> int:
    project = read_project(file)
    session = Session(output, project, compose.connect(os.environ), gpu)
    _print_file(session)
    spec = compose.read(project.folder, os.environ)
    card = _admit(session, spec)
    if dry_run:
        return _dry_run(session)
    with Watcher(output.progress()) as watch:
        done = compose.up(project.folder, session.client, os.environ, watch, timeout)
    footprints = _footprints(session, spec, card)
    _warn(output, footprints)
    report: dict[str, Any] = {
        "project": done.project,
        "services": [
            {"name": s.name, "verb": s.verb, "seconds": round(s.seconds, 1), "state": s.state} for s in done.services
        ],
        "footprints": [
            {"service": f.service, "planned_bytes": f.planned, "measured_bytes": f.measured} for f in footprints
        ],
    }
    if not verify:
        return _done(output, report, 0)
    from kit.verbs.verify import check

    code, report["verification"] = check(output, file, None)
    return _done(output, report, code)


def _done(output: Output, report: dict[str, Any], code: int) -> int:
    if output.as_json:
        output.json(report)
    return code


def _print_file(session: Session) -> None:
    """Print the compose file when there is none, or when the manifest says something else since it was printed."""
    project, path = session.project, session.project.folder / COMPOSE
    existing = read_text(path)
    if existing is not None and is_ours(existing) != "ours":
        session.output.say(f"{path} was edited by hand; it is driven as it is")
        return
    if existing is not None and printed_from(existing) == digest_of(project):
        return
    for name in write(path, printed(project, session.gpu or _card_word(project)), force=False):
        session.output.say(f"wrote {name}")


def _card_word(project: Project) -> str | None:
    """The real card is asked, except for the host's memory that the manifest fixes."""
    return None if project.manifest.gpu.device == "none" else LIVE


def promises(spec: ProjectSpec) -> tuple[Promise, ...]:
    """What the file says of its workers."""
    found = [(service.name, dict(service.labels)) for service in spec.services]
    return tuple(
        Promise(name, int(said[labels.BYTES]), said[labels.CARD], int(said[labels.CARD_BYTES]))
        for name, said in found
        if said.get(labels.ROLE) == "worker" and labels.BYTES in said
    )


def _admit(session: Session, spec: ProjectSpec) -> Gpu | None:
    """The card, once it was asked and has room for what will start; None for the host's memory."""
    made = promises(spec)
    if session.project.manifest.gpu.device == "none" or not made:
        return None
    gpu = choose_gpu(session.project, session.gpu or LIVE)
    other = wrong_card(made, gpu)
    if other:
        raise TargetError(other)
    _, operations = compose.decide(session.project.folder, session.client, os.environ)
    starting = {op.name for op in operations if op.verb in STARTS}
    held = {process.pid: process.bytes for process in gpu.processes}
    ours = {pid: held[pid] for pids in _pids(session, starting).values() for pid in pids if pid in held}
    full = no_room(tuple(p for p in made if p.service in starting), gpu, ours)
    if full:
        raise TargetError(full)
    return gpu


def _pids(session: Session, services: set[str] | None = None) -> dict[str, list[int]]:
    """Service -> the host's pids of its processes."""
    return inside.pids(session.client, compose.project_name(session.project.folder, os.environ), services)


def _footprints(session: Session, spec: ProjectSpec, card: Gpu | None) -> tuple[Footprint, ...]:
    if card is None:
        return ()
    planned = {promise.service: promise.bytes for promise in promises(spec)}
    return compare(planned, _pids(session), choose_gpu(session.project, session.gpu or LIVE))


def _warn(output: Output, footprints: tuple[Footprint, ...]) -> None:
    from kit.units import gib

    for one in footprints:
        if one.off and one.measured:
            output.say(
                f"warning: {one.service} holds {gib(one.measured)}, {gib(one.measured - one.planned)} more than "
                "planned; `monogpu-kit calibrate` measures it"
            )


def _dry_run(session: Session) -> int:
    result = compose.up(session.project.folder, session.client, os.environ, dry_run=True)
    if session.output.as_json:
        session.output.json(
            {
                "project": result.project,
                "operations": [{"verb": o.verb, "name": o.name, "cause": o.cause} for o in result.operations],
            }
        )
        return 0
    session.output.print(*(str(operation) for operation in result.operations))
    return 0
