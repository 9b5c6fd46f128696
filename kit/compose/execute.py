"""Does what reconcile decided, one Engine call after another, and waits where the file says to wait.

No policy lives here: which operations, in which order, is decided; whether a service is ready is judged elsewhere. When
it is interrupted, the next `up` goes on from the containers that it finds.
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
from kit.compose.operation import LAST, RECREATING, SERVICE_VERBS, STARTING, Operation
from kit.compose.ps import remove_container
from kit.compose.readiness import may_start
from kit.compose.spec import ServiceSpec
from kit.compose.wait import ExecutionContext, StartedService, await_memory, check

UNHEALTHY_GRACE = 10  # seconds


@dataclass(frozen=True)
class ServiceResult:
    """A service that is ready: what was done, and how many seconds it took (0 for one that was kept)."""

    name: str
    verb: str
    seconds: float
    state: str


def execute(context: ExecutionContext, operations: Sequence[Operation]) -> tuple[ServiceResult, ...]:
    """Does all of it, in order. Raises TargetError at the first failure; what is done by then stays."""
    prepare(context, operations)
    drains = {op.before: op for op in operations if op.before}
    done = _start_services(context, [op for op in operations if op.verb in SERVICE_VERBS], drains)
    _each(context, [op for op in operations if op.verb in LAST])
    return done


def prepare(context: ExecutionContext, operations: Sequence[Operation]) -> None:
    """Does what comes before the first service."""
    _each(context, [op for op in operations if op.verb not in (*SERVICE_VERBS, *LAST) and not op.before])


def _each(context: ExecutionContext, operations: Sequence[Operation]) -> None:
    for op in operations:
        _do(context, op, op.verb)
        context.watch(Did(op.verb, op.name, op.cause))


def _do(context: ExecutionContext, op: Operation, verb: str) -> None:
    doing, act = ACTIONS[verb]
    with translate_errors(doing.format(op.name)):
        act(context, op)


def _start_services(
    context: ExecutionContext, operations: Sequence[Operation], drains: Mapping[str, Operation]
) -> tuple[ServiceResult, ...]:
    """Starts each service when its dependencies are ready; returns when all are."""
    pending = list(operations)
    started: dict[str, StartedService] = {}
    ready: dict[str, ServiceResult] = {}
    while len(ready) < len(operations):
        before = len(ready)
        for op in [op for op in pending if may_start(context.project.service(op.name), started, ready)]:
            if op.name in drains and len(ready) < len(started):
                continue  # it serves until those before it do
            _each(context, [drains[op.name]] if op.name in drains else [])
            started[op.name] = _start(context, op)
            pending.remove(op)
        for name, one in started.items():
            started[name], found = check(context, one, name in ready)
            if found.outcome == "ready" and name not in ready:
                seconds = 0.0 if one.verb == "keep" else context.clock.now() - one.at
                context.hooks.open(name)
                ready[name] = ServiceResult(name, one.verb, seconds, found.detail)
        if len(ready) == before:
            context.clock.sleep(context.clock.pause)
    return tuple(ready[op.name] for op in operations)


def _start(context: ExecutionContext, op: Operation) -> StartedService:
    at, service = context.clock.now(), context.project.service(op.name)
    with translate_errors(f"{op.name} cannot be started"):
        container = _container(context, op, service)
        context.watch(Kept(op.name, op.cause) if op.verb == "keep" else Started(op.name, op.verb, op.cause))
        restarts, since = _before(context, op, container)
        return StartedService(service, container, op.verb, at, restarts, since, restarts)


def _container(context: ExecutionContext, op: Operation, service: ServiceSpec) -> str:
    """Brings up the service's container, and returns its id."""
    if op.verb in ("replace", "restart"):
        _do(context, op, "remove" if op.verb == "replace" else "stop")
    if op.verb in STARTING:
        await_memory(context, service)
        container = make(context, service) if op.verb in RECREATING else _existing(op).id
        context.client.api.start(container)
        return container
    if op.verb == "resume":
        context.client.api.unpause(_existing(op).id)
    return _existing(op).id


def _before(context: ExecutionContext, op: Operation, container: str) -> tuple[int, datetime | None]:
    """Restarts that happened before this `up`, and where its log begins. Docker counts restarts from 0 again when a
    container is started; what happened since then must be seen, however fast it was."""
    if op.container is None or op.verb in RECREATING:
        return 0, None
    if op.verb == "start":
        return 0, op.container.finished
    if op.verb == "restart":
        now = inspect(context.client, container)
        return 0, now.finished if now else None
    return op.container.restarts, None


def make(context: ExecutionContext, service: ServiceSpec) -> str:
    """Creates the service's container, without starting it, and returns its id."""
    api, project = context.client.api, context.project
    image = image_id(context.client, service.image) or ""
    labels = create_request.container_labels(project, service, image, context.hashes[service.name], context.version)
    body = create_request.container_body(project, service, labels)
    made = api.create_container_from_config(body, service.container)  # type: ignore[no-untyped-call]
    for use in service.networks[1:]:
        network, place = create_request.endpoint(project, service, use)
        api.connect_container_to_network(made["Id"], network, aliases=place["Aliases"], **dict(use.fixed))
    return str(made["Id"])


def _existing(op: Operation) -> ContainerState:
    assert op.container is not None, f"{op} has no container"
    return op.container


def _grace(container: ContainerState) -> int:
    """Seconds to end by itself. One that is unhealthy finishes nothing, and may not even hear that it is to end."""
    return min(container.stop_seconds, UNHEALTHY_GRACE) if container.health == "unhealthy" else container.stop_seconds


def _create_network(context: ExecutionContext, op: Operation) -> None:
    network = next(each for each in context.project.networks if each.name == op.name)
    labels = create_request.resource_labels(context.project, network, context.version)
    context.client.api.create_network(
        network.name,
        driver="bridge",
        options=dict(network.options),
        internal=network.internal,
        labels=labels,
        attachable=network.attachable,
        enable_ipv6=network.ipv6,
    )


def _create_volume(context: ExecutionContext, op: Operation) -> None:
    volume = next(each for each in context.project.volumes if each.name == op.name)
    labels = create_request.resource_labels(context.project, volume, context.version)
    context.client.api.create_volume(volume.name, driver_opts=dict(volume.options), labels=labels)


# Verb -> what failed when it raises, and what is done. A container that is removed leaves its volumes.
ACTIONS: Mapping[str, tuple[str, Callable[[ExecutionContext, Operation], object]]] = {
    "pull": ("{} cannot be pulled", lambda context, op: pull(context.client, op.name, context.watch)),
    "drain": ("{} cannot be drained", lambda context, op: context.hooks.close(op.targets)),
    "stop": (
        "{} cannot be stopped",
        lambda context, op: context.client.api.stop(_existing(op).id, timeout=_grace(_existing(op))),
    ),
    "remove": (
        "{} cannot be removed",
        lambda context, op: remove_container(context.client, _existing(op), _grace(_existing(op))),
    ),
    "remove network": (
        "the network {} cannot be removed",
        lambda context, op: context.client.api.remove_network(op.name),
    ),
    "remove volume": ("the volume {} cannot be removed", lambda context, op: context.client.api.remove_volume(op.name)),
    "create network": ("the network {} cannot be created", _create_network),
    "create volume": ("the volume {} cannot be created", _create_volume),
}
