"""`up`, `down`, `status` and `logs` of Docker Compose's stacks, through the Docker SDK.

Docker Compose reads the files, printed or edited; Docker is observed once; the difference is a list of operations,
each with its cause; they are done one after another. Labels are Compose's own, so either can take over.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from kit.compose import compose_cli, drain
from kit.compose.client import connect, is_local, translate_errors
from kit.compose.compose_cli import Run, run_compose
from kit.compose.compose_files import FILE, project_name
from kit.compose.events import Watch, unwatched
from kit.compose.execute import ServiceResult, execute
from kit.compose.observe import listeners, observe
from kit.compose.observed import ObservedState
from kit.compose.operation import Operation
from kit.compose.preflight import refusals
from kit.compose.ps import down, logs, status
from kit.compose.readiness import usual_seconds
from kit.compose.reconcile import reconcile
from kit.compose.spec import ProjectSpec, ServiceSpec
from kit.compose.wait import CLOCK, Clock, ExecutionContext, Hooks
from kit.errors import TargetError
from kit.stack.render import Rendered

if TYPE_CHECKING:
    from docker import DockerClient

__all__ = [
    "FILE",
    "UpResult",
    "connect",
    "decide",
    "down",
    "logs",
    "perform",
    "project_name",
    "read",
    "status",
    "up",
]

Room = Callable[[ServiceSpec], str]


@dataclass(frozen=True)
class UpResult:
    """What `up` decided and, unless it was a dry run, did. `services` is () after a dry run."""

    project: str
    operations: tuple[Operation, ...]
    services: tuple[ServiceResult, ...] = ()


def read(folder: Path, environ: Mapping[str, str], compose: Run = run_compose) -> ProjectSpec:
    """The compose project of a folder, as Docker Compose reads it. Raises TargetError."""
    return compose_cli.source(folder, environ, run=compose).project()


def up(
    folder: Path,
    client: DockerClient,
    environ: Mapping[str, str],
    watch: Watch = unwatched,
    timeout: float | None = None,
    *,
    only: Collection[str] | None = None,
    dry_run: bool = False,
    compose: Run = run_compose,
    clock: Clock = CLOCK,
) -> UpResult:
    """Brings up what the folder's compose file says, touching only what changed; with `only`,
    these services and what must have been completed for them, alone. `timeout` bounds the wait for one
    service, in seconds; None trusts its health check. Raises TargetError at the first failure; what runs stays."""
    context, operations = decide(folder, client, environ, only=only, compose=compose, clock=clock)
    if dry_run:
        return UpResult(context.project.name, operations)
    return perform(replace(context, watch=watch, timeout=timeout), operations)


def perform(context: ExecutionContext, operations: tuple[Operation, ...], room: Room = lambda service: "") -> UpResult:
    """Does what `decide` decided. `room` says what memory a service lacks; "" when it is free. Whatever happens, the
    router's list is complete again afterwards. Raises TargetError at the first failure; what runs stays."""
    name = context.project.name
    with translate_errors(f"{name} cannot be brought up"), drain.around(context, operations) as traffic:
        done = execute(replace(context, hooks=Hooks(traffic.close, traffic.open, room)), operations)
        traffic.settle()
    return UpResult(name, operations, done)


def decide(
    folder: Path,
    client: DockerClient,
    environ: Mapping[str, str],
    *,
    only: Collection[str] | None = None,
    printed: Rendered | None = None,
    prune: bool = False,
    compose: Run = run_compose,
    clock: Clock = CLOCK,
) -> tuple[ExecutionContext, tuple[Operation, ...]]:
    """What `up` would do, and what it needs to do it. Nothing is changed. `printed` is what will be written to the
    folder first, None to go by what lies there; `prune`: volumes that the file no longer names go. Raises
    TargetError."""
    found = compose_cli.load(folder, environ, printed.compose if printed else None, compose)
    project = found.project if only is None else found.project.only(only)
    with translate_errors(f"{project.name} cannot be observed"):
        observed = observe(client, project)
    files = [project.file.parent / file.path for file in printed.files] if printed else []
    coming = {str(path) for file in files for path in (file, file.parent)}
    _refuse(project, observed, client, coming)
    usual = usual_seconds(project, observed.containers)
    context = ExecutionContext(client, project, found.hashes, found.version, unwatched, None, usual, clock)
    return context, reconcile(project, observed, found.hashes, prune)


def _refuse(project: ProjectSpec, observed: ObservedState, client: DockerClient, coming: Collection[str]) -> None:
    """Paths and ports are this machine's only when the Engine is; `coming` are files and folders that will be made."""
    local = is_local(client)
    ports = [int(port.published) for service in project.services for port in service.ports if port.published]

    def exists(path: str) -> bool:
        return not local or path in coming or Path(path).exists()

    problems = refusals(project, observed, exists, listeners(ports) if local else ())
    if problems:
        raise TargetError(problems)
