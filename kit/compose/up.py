"""`up`, `down`, `status` and `logs` of Docker Compose's stacks, through the Docker SDK.

The file is read as it is on disk, printed or edited; Docker is observed once; the difference is a list of operations,
each with its cause; they are done one after another. Labels are Compose's own, so either can take over.
"""

from __future__ import annotations

import os.path
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from kit.compose import drain, load
from kit.compose.client import AskCompose, ask_compose, connect, is_local, translate_errors
from kit.compose.events import Watch, unwatched
from kit.compose.execute import ServiceResult, execute
from kit.compose.load import dotenv
from kit.compose.observe import listeners, observe
from kit.compose.observed import ObservedState
from kit.compose.operation import Operation
from kit.compose.preflight import refusals
from kit.compose.ps import down, logs, status
from kit.compose.readiness import usual_seconds
from kit.compose.reconcile import reconcile
from kit.compose.spec import ProjectSpec, ServiceSpec
from kit.compose.wait import CLOCK, Clock, ExecutionContext, Hooks
from kit.errors import Problem, TargetError
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

FILE = "docker-compose.yaml"
OVERRIDES = ("docker-compose.override.yml", "docker-compose.override.yaml")
Room = Callable[[ServiceSpec], str]
_NO_COMPOSE = "monogpu-kit"  # in Compose's version label where Compose is not installed


@dataclass(frozen=True)
class UpResult:
    """What `up` decided and, unless it was a dry run, did. `services` is () after a dry run."""

    project: str
    operations: tuple[Operation, ...]
    services: tuple[ServiceResult, ...] = ()


def read(folder: Path, environ: Mapping[str, str]) -> ProjectSpec:
    """The compose file of a folder, its variables replaced from `environ` and from `.env` beside it. Raises TargetError
    with every problem at its line."""
    return _read(folder, environ, None)[0]


def _read(folder: Path, environ: Mapping[str, str], given: str | None) -> tuple[ProjectSpec, str]:
    """The project and the text that it is read from: the `given` one, or the file's."""
    file, content = (_file(folder), given) if given is not None else _content(folder)
    for name in OVERRIDES:
        if (file.parent / name).exists():
            words = "the kit reads one file: move its content, or use `docker compose up`"
            raise TargetError(Problem(f"{name} lies beside {FILE}", words))
    return load.project(content, file, variables(file.parent, environ)), content


def project_name(folder: Path, environ: Mapping[str, str]) -> str:
    """The project of a folder's compose file; secrets that the file demands may be unset. Raises TargetError."""
    file, content = _content(folder)
    return load.project_name(content, file, variables(file.parent, environ))


def up(
    folder: Path,
    client: DockerClient,
    environ: Mapping[str, str],
    watch: Watch = unwatched,
    timeout: float | None = None,
    *,
    only: Collection[str] | None = None,
    dry_run: bool = False,
    compose: AskCompose = ask_compose,
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
    compose: AskCompose = ask_compose,
    clock: Clock = CLOCK,
) -> tuple[ExecutionContext, tuple[Operation, ...]]:
    """What `up` would do, and what it needs to do it. Nothing is changed. `printed` is what will be written to the
    folder first, None to go by what lies there; `prune`: volumes that the file no longer names go. Raises
    TargetError."""
    project, content = _read(folder, environ, printed.compose if printed else None)
    project = project if only is None else project.only(only)
    said = compose(project.file, content, environ)
    with translate_errors(f"{project.name} cannot be observed"):
        observed = observe(client, project)
    files = [project.file.parent / file.path for file in printed.files] if printed else []
    coming = {str(path) for file in files for path in (file, file.parent)}
    _refuse(project, observed, client, coming)
    usual = usual_seconds(project, observed.containers)
    context = ExecutionContext(client, project, said.hashes, said.version or _NO_COMPOSE, unwatched, None, usual, clock)
    return context, reconcile(project, observed, said.hashes, prune)


def _refuse(project: ProjectSpec, observed: ObservedState, client: DockerClient, coming: Collection[str]) -> None:
    """Paths and ports are this machine's only when the Engine is; `coming` are files and folders that will be made."""
    local = is_local(client)
    ports = [int(port.published) for service in project.services for port in service.ports if port.published]

    def exists(path: str) -> bool:
        return not local or path in coming or Path(path).exists()

    problems = refusals(project, observed, exists, listeners(ports) if local else ())
    if problems:
        raise TargetError(problems)


def _file(folder: Path) -> Path:
    return Path(os.path.normpath(folder.absolute())) / FILE  # as Compose labels it: symbolic links kept


def _content(folder: Path) -> tuple[Path, str]:
    file = _file(folder)
    try:
        return file, file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise TargetError(Problem(f"{file} is not there", "`monogpu-kit render` prints it")) from None
    except (OSError, UnicodeDecodeError) as error:
        raise TargetError(Problem(f"{file} cannot be read", str(error))) from None


def variables(folder: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """What `${NAME}` means in a folder: the environment wins over `.env`. Raises TargetError."""
    try:
        beside = dotenv((folder / ".env").read_text(encoding="utf-8"), environ)
    except FileNotFoundError:
        beside = {}
    except (OSError, ValueError) as error:
        raise TargetError(Problem(f"{folder / '.env'} cannot be read", str(error))) from None
    return {**beside, **environ}
