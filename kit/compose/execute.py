"""Does what reconcile decided, one Engine call after another, and waits where the file says to wait.

No policy lives here: which operations, in which order, is decided; whether a service is ready is judged elsewhere.
A walk that is interrupted leaves containers that are made, started or stopped, each of which the next walk takes up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from kit.compose import create_request
from kit.compose.client import pull, translate_errors
from kit.compose.events import Did, Kept, Started
from kit.compose.observe import image_id, inspect
from kit.compose.observed import ContainerState
from kit.compose.operation import LAST, SERVICE_VERBS, Operation
from kit.compose.readiness import may_begin
from kit.compose.spec import ServiceSpec
from kit.compose.wait import (
    ExecutionContext,
    StartedService,
    await_room,
    look,
)

UNHEALTHY_GRACE = 10  # seconds


@dataclass(frozen=True)
class ServiceResult:
    """A service that is ready: what was done, and how many seconds it took (0 for one that was kept)."""

    name: str
    verb: str
    seconds: float
    state: str


def execute(walk: ExecutionContext, operations: Sequence[Operation]) -> tuple[ServiceResult, ...]:
    """Raises TargetError at the first thing that fails; what is done by then stays."""
    prepare(walk, operations)
    drains = {op.before: op for op in operations if op.before}
    done = _walk(walk, [op for op in operations if op.verb in SERVICE_VERBS], drains)
    _each(walk, [op for op in operations if op.verb in LAST])
    return done


def prepare(walk: ExecutionContext, operations: Sequence[Operation]) -> None:
    """All that comes before the first service."""
    _each(walk, [op for op in operations if op.verb not in (*SERVICE_VERBS, *LAST) and not op.before])


def _each(walk: ExecutionContext, operations: Sequence[Operation]) -> None:
    for op in operations:
        DO[op.verb](walk, op)
        walk.watch(Did(op.verb, op.name, op.cause))


def _walk(
    walk: ExecutionContext, operations: Sequence[Operation], drains: Mapping[str, Operation]
) -> tuple[ServiceResult, ...]:
    pending = list(operations)
    begun: dict[str, StartedService] = {}
    ready: dict[str, ServiceResult] = {}
    while len(ready) < len(operations):
        before = len(ready)
        for op in [op for op in pending if may_begin(walk.project.service(op.name), begun, ready)]:
            if op.name in drains and len(ready) < len(begun):
                continue  # it serves until those before it do
            _each(walk, [drains[op.name]] if op.name in drains else [])
            begun[op.name] = _begin(walk, op)
            pending.remove(op)
        for name, one in begun.items():
            begun[name], verdict = look(walk, one, name in ready)
            if verdict.outcome == "ready":
                seconds = 0.0 if one.verb == "keep" else walk.clock.now() - one.at
                if name not in ready:
                    walk.gate.open(name)
                    ready[name] = ServiceResult(name, one.verb, seconds, verdict.words)
        if len(ready) == before:
            walk.clock.sleep(walk.clock.pause)
    return tuple(ready[op.name] for op in operations)


def _begin(walk: ExecutionContext, op: Operation) -> StartedService:
    at, service = walk.clock.now(), walk.project.service(op.name)
    with translate_errors(f"{op.name} cannot be started"):
        container = BEGIN[op.verb](walk, op, service)
        walk.watch(Kept(op.name, op.cause) if op.verb == "keep" else Started(op.name, op.verb, op.cause))
        restarts, since = _before(walk, op, container)
        return StartedService(service, container, op.verb, at, restarts, since, restarts)


def _before(walk: ExecutionContext, op: Operation, container: str) -> tuple[int, datetime | None]:
    """Restarts that are not this walk's, and where the log of this walk begins. Docker counts restarts from 0 again
    when a container is started; what happened since then must be seen, however fast it was."""
    if op.container is None or op.verb in ("create", "replace"):
        return 0, None
    if op.verb == "start":
        return 0, op.container.finished
    if op.verb == "restart":
        now = inspect(walk.client, container)
        return 0, now.finished if now else None
    return op.container.restarts, None


def make(walk: ExecutionContext, service: ServiceSpec) -> str:
    """Creates the service's container, without starting it, and returns its id."""
    image = image_id(walk.client, service.image) or ""
    labels = create_request.container_labels(walk.project, service, image, walk.hashes.get(service.name), walk.version)
    body = create_request.container_body(walk.project, service, labels)
    made = walk.client.api.create_container_from_config(body, service.container)  # type: ignore[no-untyped-call]
    for use in service.networks[1:]:
        network, place = create_request.endpoint(walk.project, service, use)
        walk.client.api.connect_container_to_network(made["Id"], network, aliases=place["Aliases"])
    return str(made["Id"])


def _create(walk: ExecutionContext, op: Operation, service: ServiceSpec) -> str:
    await_room(walk, service)
    container = make(walk, service)
    walk.client.api.start(container)
    return container


def _replace(walk: ExecutionContext, op: Operation, service: ServiceSpec) -> str:
    _remove(walk, op)
    return _create(walk, op, service)


def _start(walk: ExecutionContext, op: Operation, service: ServiceSpec) -> str:
    await_room(walk, service)
    walk.client.api.start(_there(op).id)
    return _there(op).id


def _restart(walk: ExecutionContext, op: Operation, service: ServiceSpec) -> str:
    _stop(walk, op)
    return _start(walk, op, service)


def _resume(walk: ExecutionContext, op: Operation, service: ServiceSpec) -> str:
    walk.client.api.unpause(_there(op).id)
    return _there(op).id


def _keep(walk: ExecutionContext, op: Operation, service: ServiceSpec) -> str:
    return _there(op).id


def _there(op: Operation) -> ContainerState:
    assert op.container is not None, f"{op} has no container"
    return op.container


def _pull(walk: ExecutionContext, op: Operation) -> None:
    pull(walk.client, op.name, walk.watch)


def _drain(walk: ExecutionContext, op: Operation) -> None:
    walk.gate.close(op.targets)


def _stop(walk: ExecutionContext, op: Operation) -> None:
    with translate_errors(f"{op.name} cannot be stopped"):
        walk.client.api.stop(_there(op).id, timeout=_grace(_there(op)))


def _grace(container: ContainerState) -> int:
    """Seconds to end by itself. One that is unhealthy finishes nothing, and may not even hear that it is to end."""
    return min(container.stop_seconds, UNHEALTHY_GRACE) if container.health == "unhealthy" else container.stop_seconds


def _remove(walk: ExecutionContext, op: Operation) -> None:
    """Its volumes stay."""
    from docker.errors import NotFound

    with translate_errors(f"{op.name} cannot be removed"):
        try:
            walk.client.api.stop(_there(op).id, timeout=_grace(_there(op)))
            walk.client.api.remove_container(_there(op).id, force=True)
        except NotFound:
            return


def _remove_network(walk: ExecutionContext, op: Operation) -> None:
    with translate_errors(f"the network {op.name} cannot be removed"):
        walk.client.api.remove_network(op.name)


def _remove_volume(walk: ExecutionContext, op: Operation) -> None:
    with translate_errors(f"the volume {op.name} cannot be removed"):
        walk.client.api.remove_volume(op.name)


def _create_network(walk: ExecutionContext, op: Operation) -> None:
    network = next(each for each in walk.project.networks if each.name == op.name)
    labels = create_request.resource_labels(walk.project, network, walk.version)
    with translate_errors(f"the network {op.name} cannot be made"):
        walk.client.api.create_network(
            network.name, driver="bridge", options=dict(network.options), internal=network.internal, labels=labels
        )


def _create_volume(walk: ExecutionContext, op: Operation) -> None:
    volume = next(each for each in walk.project.volumes if each.name == op.name)
    labels = create_request.resource_labels(walk.project, volume, walk.version)
    with translate_errors(f"the volume {op.name} cannot be made"):
        walk.client.api.create_volume(volume.name, driver_opts=dict(volume.options), labels=labels)


DO: Mapping[str, Callable[[ExecutionContext, Operation], None]] = {
    "pull": _pull,
    "drain": _drain,
    "stop": _stop,
    "remove": _remove,
    "remove network": _remove_network,
    "remove volume": _remove_volume,
    "create network": _create_network,
    "create volume": _create_volume,
}
BEGIN: Mapping[str, Callable[[ExecutionContext, Operation, ServiceSpec], str]] = {
    "keep": _keep,
    "create": _create,
    "replace": _replace,
    "start": _start,
    "restart": _restart,
    "resume": _resume,
}
