"""`up` in two steps: decide and admit to a value that can be printed, then act on it; and the check of what runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from kit.compose import drain, up
from kit.compose import exec as inside
from kit.compose.compose_cli import not_as_billed
from kit.compose.operation import STARTING, Operation
from kit.compose.spec import ServiceSpec
from kit.compose.stats import apart_from
from kit.compose.wait import ExecutionContext
from kit.errors import Problem, TargetError, VerificationError
from kit.files import read_text
from kit.gpu import Gpu
from kit.output.console import Output
from kit.output.progress import Watcher
from kit.output.status import unbilled
from kit.planner.admission import Promise, compare, no_room, wrong_card
from kit.project.load import LIVE, Project, choose_gpu, own_name, planned_for
from kit.project.write import COMPOSE, digest_of, printed_from, rendered_from, write
from kit.stack import labels
from kit.stack.render import Rendered, is_ours
from kit.units import gib

if TYPE_CHECKING:
    from docker import DockerClient

ENDING = ("replace", "restart", "remove", "stop")  # verbs after which a container's memory is free
LEAST_PATIENCE = 10.0


@dataclass(frozen=True)
class ApplyPlan:
    """What `up` would do: the `operations`, and the files that are `printed` first, None where those on disk are used
    as they are. `gpu` is what --gpu names."""

    project: Project
    context: ExecutionContext
    operations: tuple[Operation, ...]
    printed: Rendered | None
    notes: tuple[str, ...]
    gpu: str | None

    @property
    def starting_or_ending(self) -> tuple[Operation, ...]:
        """The operations that start or end a service."""
        return tuple(one for one in self.operations if one.verb in (*STARTING, *ENDING))

    @property
    def promises(self) -> tuple[Promise, ...]:
        """The footprint of each worker as the compose file promises it; () where none is on a card."""
        found = [(service.name, dict(service.labels)) for service in self.context.project.services]
        return tuple(
            Promise(name, int(said[labels.BYTES]), said[labels.CARD], int(said[labels.CARD_BYTES]))
            for name, said in found
            if self.project.manifest.gpu.device != "none"
            if said.get(labels.ROLE) == "worker" and labels.BYTES in said
        )

    def card(self) -> Gpu:
        """The card as it is now."""
        return choose_gpu(self.project, self.gpu or LIVE)

    def lacks(self, service: ServiceSpec) -> str:
        """What the card lacks for a service now; "" when there is room."""
        mine = [promise for promise in self.promises if promise.service == service.name]
        full = no_room(mine, self.card(), {}) if mine else None
        return f"{full.what}; {full.needed}" if full else ""

    def changes(self) -> list[str]:
        """The list of changes: what is done to what, and why."""
        wide = max((len(op.verb) for op in self.operations), default=0)
        names = max((len(op.name) for op in self.operations if len(op.name) < 32), default=0)
        return [f"{op.verb:<{wide}}  {op.name:<{names}}  {op.cause}" for op in self.operations]

    def as_json(self) -> dict[str, Any]:
        listed = [{"verb": op.verb, "name": op.name, "cause": op.cause} for op in self.operations]
        return {"project": self.context.project.name, "operations": listed}


def pending(
    project: Project, client: DockerClient, environ: Mapping[str, str], gpu: str | None = None, prune: bool = False
) -> ApplyPlan:
    """What `up` would do, whether or not the card has room for it. Nothing is changed."""
    path = project.folder / COMPOSE
    existing, printed = read_text(path), None
    edited = existing is not None and is_ours(existing) != "ours"
    notes: tuple[str, ...] = (f"{path} was edited by hand; it is used as it is",) if edited else ()
    if not edited and (existing is None or printed_from(existing) != digest_of(project)):
        # The real card is asked, except for the host's memory that the manifest fixes.
        card = choose_gpu(project, gpu or (None if project.manifest.gpu.device == "none" else LIVE))
        card = apart_from(client, own_name(project, environ), card)
        printed = rendered_from(project, planned_for(project, card))
    context, operations = up.decide(project.folder, client, environ, printed=printed, prune=prune)
    notes += unbilled(not_as_billed(project.folder, environ, printed.compose if printed else None))
    return ApplyPlan(project, context, operations, printed, notes, gpu)


def decide(
    project: Project, client: DockerClient, environ: Mapping[str, str], gpu: str | None = None, prune: bool = False
) -> ApplyPlan:
    """What `up` will do. Raises TargetError when the file is for another card, or when the card has no room."""
    drain.restore(project.folder)
    plan = pending(project, client, environ, gpu, prune)
    if not plan.promises:
        return plan
    card = plan.card()
    if problem := wrong_card(plan.promises, card):
        raise TargetError(problem)
    starting = {op.name for op in plan.operations if op.verb in STARTING}
    ending = {op.container.service for op in plan.operations if op.verb in ENDING and op.container}
    ended = {pid for pids in inside.pids(client, plan.context.project.name, ending).values() for pid in pids}
    ours = {process.pid: process.bytes for process in card.processes if process.pid in ended}
    if problem := no_room(tuple(one for one in plan.promises if one.service in starting), card, ours):
        raise TargetError(problem)
    return plan


def bring_up(output: Output, plan: ApplyPlan, timeout: float) -> dict[str, Any]:
    """Act on a plan, and compare the footprints with it. The report for programs."""
    output.say(*plan.notes, *plan.changes())
    if plan.printed is not None:
        output.say(*write(plan.project.folder / COMPOSE, plan.printed, force=False))
    with Watcher(output.progress()) as watch:
        done = up.perform(replace(plan.context, watch=watch, timeout=timeout), plan.operations, plan.lacks)
    planned = {promise.service: promise.bytes for promise in plan.promises}
    footprints = compare(planned, inside.pids(plan.context.client, done.project), plan.card()) if planned else ()
    for one in footprints:
        if one.off and one.measured:
            more = f"{gib(one.measured)}, {gib(one.measured - one.planned)} more than planned"
            output.say(f"warning: {one.service} uses {more}; `monogpu-kit calibrate` measures it")
    return {
        "project": done.project,
        "services": [
            {"name": s.name, "verb": s.verb, "seconds": round(s.seconds, 1), "state": s.state} for s in done.services
        ],
        "footprints": [
            {"service": f.service, "planned_bytes": f.planned, "measured_bytes": f.measured} for f in footprints
        ],
    }


def check(
    output: Output, project: Project, client: DockerClient | None, url: str | None = None
) -> tuple[int, dict[str, Any]]:
    """Verify what runs, and print it for people: the exit code and the report for programs. Without a client Docker is
    not asked: what runs at `url` may be on another machine. Raises TargetError when nothing runs."""
    from kit import verify
    from kit.output.checks import verification

    patience = LEAST_PATIENCE
    if client is not None:
        patience = _patience(up.project_name(project.folder, output.environ), client, verify.PATIENCE)
    with output.progress().status("asking every model"):
        found = verify.run(project.folder, output.environ, url, client, patience=patience)
    if not output.as_json:
        output.draw(verification(found))
    return 0 if found.ok else VerificationError.exit_code, found.as_json()


def _patience(project: str, client: DockerClient, most: float) -> float:
    """Seconds that wrong answers may still turn into right ones: a router that has just started learns its workers one
    by one, an old one knows them. Raises TargetError without a router; a worker that does not run is a failed check."""
    running = [one for one in up.status(project, client) if one.status == "running"]
    router = next((one for one in running if one.role == "router"), None)
    if router is None:
        what = f"the router of {project} does not run" if running else f"nothing of {project} runs"
        raise TargetError(Problem(what, "`monogpu-kit up` starts it"))
    age = (datetime.now(UTC) - router.started).total_seconds() if router.started else 0.0
    return max(most - age, LEAST_PATIENCE)
