"""`up`: render where needed, ask the card, say what changes, drive the file, compare the footprints, verify."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kit.compose import drain, up
from kit.compose import exec as inside
from kit.compose.operation import STARTING, Operation
from kit.compose.spec import ProjectSpec, ServiceSpec
from kit.compose.stats import apart_from
from kit.errors import TargetError
from kit.gpu import Gpu
from kit.output.console import Output
from kit.output.progress import Watcher
from kit.planner.admission import Footprint, Promise, compare, no_room, wrong_card
from kit.project import cards
from kit.project.files import read_text
from kit.project.load import LIVE, Project, choose_gpu, planned_for, read_project
from kit.project.write import COMPOSE, digest_of, printed_from, rendered_from, write
from kit.stack import labels
from kit.stack.render import Rendered, is_ours

if TYPE_CHECKING:
    from docker import DockerClient

ENDING = ("replace", "restart", "remove", "stop")  # verbs after which a container's memory is free


@dataclass(frozen=True)
class ApplyContext:
    """What one `up` works with."""

    output: Output
    project: Project
    client: DockerClient
    gpu: str | None


def run(
    output: Output, file: Path, gpu: str | None, verify: bool, timeout: float, dry_run: bool, prune: bool = False
) -> int:
    project = read_project(file)
    session = ApplyContext(output, project, up.connect(os.environ), gpu)
    drain.restore(project.folder)
    printed = _to_print(session)
    walk, operations = up.decide(project.folder, session.client, os.environ, printed=printed, prune=prune)
    spec = walk.project
    card = _admit(session, spec, operations)
    if dry_run:
        return _dry_run(session, spec, operations)
    output.say(*changes(operations))
    if printed is not None:
        for name in write(project.folder / COMPOSE, printed, force=False):
            output.say(f"wrote {name}")
    with Watcher(output.progress()) as watch:
        done = up.perform(replace(walk, watch=watch, timeout=timeout), operations, _room(session, spec, card))
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
    from kit.project.verify import check

    code, report["verification"] = check(output, file, None)
    return _done(output, report, code)


def pending(output: Output, project: Project, client: DockerClient) -> tuple[Operation, ...]:
    """What `up` would begin or end now. Nothing is changed."""
    printed = _to_print(ApplyContext(output, project, client, None))
    _, operations = up.decide(project.folder, client, os.environ, printed=printed)
    return tuple(one for one in operations if one.verb in (*STARTING, *ENDING))


def _done(output: Output, report: dict[str, Any], code: int) -> int:
    if output.as_json:
        output.json(report)
    return code


def _to_print(session: ApplyContext) -> Rendered | None:
    """What must be written first: where there is no compose file, or the manifest changed since it was printed."""
    project, path = session.project, session.project.folder / COMPOSE
    existing = read_text(path)
    if existing is not None and is_ours(existing) != "ours":
        session.output.say(f"{path} was edited by hand; it is driven as it is")
        return None
    if existing is not None and printed_from(existing) == digest_of(project):
        return None
    gpu = choose_gpu(project, session.gpu or _card_word(project))
    gpu = apart_from(session.client, cards.own_name(project), gpu)
    return rendered_from(project, planned_for(project, gpu))


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


def _admit(session: ApplyContext, spec: ProjectSpec, operations: Sequence[Operation]) -> Gpu | None:
    """The card, once it was asked and has room for what will start; None for the host's memory."""
    made = promises(spec)
    if session.project.manifest.gpu.device == "none" or not made:
        return None
    gpu = choose_gpu(session.project, session.gpu or LIVE)
    other = wrong_card(made, gpu)
    if other:
        raise TargetError(other)
    starting = {op.name for op in operations if op.verb in STARTING}
    ending = {op.container.service for op in operations if op.verb in ENDING and op.container}
    sizes = {process.pid: process.bytes for process in gpu.processes}
    ours = {pid: sizes[pid] for pids in _pids(session, spec.name, ending).values() for pid in pids if pid in sizes}
    full = no_room(tuple(p for p in made if p.service in starting), gpu, ours)
    if full:
        raise TargetError(full)
    return gpu


def _room(session: ApplyContext, spec: ProjectSpec, card: Gpu | None) -> Callable[[ServiceSpec], str]:
    """What the card lacks for a service, asked at that moment."""
    made = promises(spec) if card else ()

    def lacks(service: ServiceSpec) -> str:
        mine = [promise for promise in made if promise.service == service.name]
        full = no_room(mine, choose_gpu(session.project, session.gpu or LIVE), {}) if mine else None
        return f"{full.what}; {full.needed}" if full else ""

    return lacks


def _pids(session: ApplyContext, project: str, services: set[str] | None = None) -> dict[str, list[int]]:
    """Service -> the host's pids of its processes."""
    return inside.pids(session.client, project, services)


def _footprints(session: ApplyContext, spec: ProjectSpec, card: Gpu | None) -> tuple[Footprint, ...]:
    if card is None:
        return ()
    planned = {promise.service: promise.bytes for promise in promises(spec)}
    return compare(planned, _pids(session, spec.name), choose_gpu(session.project, session.gpu or LIVE))


def _warn(output: Output, footprints: tuple[Footprint, ...]) -> None:
    from kit.units import gib

    for one in footprints:
        if one.off and one.measured:
            output.say(
                f"warning: {one.service} holds {gib(one.measured)}, {gib(one.measured - one.planned)} more than "
                "planned; `monogpu-kit calibrate` measures it"
            )


def changes(operations: Sequence[Operation]) -> list[str]:
    """The list of changes: what is done to what, and why."""
    wide = max((len(op.verb) for op in operations), default=0)
    names = max((len(op.name) for op in operations if len(op.name) < 32), default=0)
    return [f"{op.verb:<{wide}}  {op.name:<{names}}  {op.cause}" for op in operations]


def _dry_run(session: ApplyContext, spec: ProjectSpec, operations: Sequence[Operation]) -> int:
    if session.output.as_json:
        listed = [{"verb": op.verb, "name": op.name, "cause": op.cause} for op in operations]
        session.output.json({"project": spec.name, "operations": listed})
        return 0
    session.output.print(*changes(operations))
    return 0
