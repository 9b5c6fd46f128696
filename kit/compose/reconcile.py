"""What is wanted against what is there -> the list of operations, each with its cause. Pure: text in, text out.

Order is part of the decision. Images come first, so that nothing is stopped for an image that cannot be had. Then the
router lets go of the workers that will stop, while they still serve. Then what goes away, so that its memory is free.
Workers that will be replaced go away one by one, each at its turn, or, where one needs the memory that another gives
up, all of them before the first one starts (turns.py).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from kit.compose import create_request as labels
from kit.compose.differences import command_words
from kit.compose.networks import must_be_remade, why_remade
from kit.compose.observed import ContainerState, ObservedState
from kit.compose.operation import RECREATING, STARTING, Operation, ServiceVerb
from kit.compose.rolling import in_turn, serve_on
from kit.compose.spec import NetworkSpec, ProjectSpec, ServiceSpec, boot_order
from kit.stack import labels as kit_labels

TOGETHER = 2.0  # seconds between the starts of what Docker starts at once, after a reboot


def reconcile(
    project: ProjectSpec, snapshot: ObservedState, hashes: Mapping[str, str], prune: bool = False
) -> tuple[Operation, ...]:
    """`hashes` are the config hashes that Docker Compose has for the file's services; {} when it was not asked.
    `prune`: the project's volumes that the file no longer names are removed."""
    current = _current(project, snapshot)
    remade = [network for network in project.networks if must_be_remade(network, snapshot)]
    services = [_service(service, current.get(service.name), project, snapshot, hashes) for service in project.services]
    cut_off = {container.id for container in snapshot.containers for net in remade if net.name in container.networks}
    services = [_recreated(op) if op.container and op.container.id in cut_off else op for op in services]
    services = list(_restarted_with(project, services))
    removals = tuple(_removals(project, snapshot, current, cut_off))
    turns = serve_on(project, services)
    return (
        *_pulls(project, snapshot, services),
        *_drains(snapshot, (*removals, *(op for op in services if op.name not in turns))),
        *removals,
        *(Operation("remove network", net.name, why_remade(net, snapshot)) for net in remade),
        *_networks(project, snapshot, remade),
        *_volumes(project, snapshot),
        *_early_stops(project, services, turns),
        *in_turn(services, _routed(snapshot, (op for op in services if op.name in turns))),
        *(Operation("remove volume", name, "is no longer in the file") for name in unnamed(project, snapshot) if prune),
    )


def unnamed(project: ProjectSpec, snapshot: ObservedState) -> tuple[str, ...]:
    """The project's volumes that its file no longer names, sorted."""
    return tuple(sorted(snapshot.owned - {volume.name for volume in project.volumes}))


def _current(project: ProjectSpec, snapshot: ObservedState) -> dict[str, ContainerState]:
    """The container that stands for each service: the one with the right name, or the first."""
    names = {service.name: service.container for service in project.services}
    current: dict[str, ContainerState] = {}
    for container in sorted(snapshot.containers, key=lambda c: (c.name != names.get(c.service), c.number, c.name)):
        if container.service in names:
            current.setdefault(container.service, container)
    return current


def _service(
    service: ServiceSpec,
    container: ContainerState | None,
    project: ProjectSpec,
    snapshot: ObservedState,
    hashes: Mapping[str, str],
) -> Operation:
    if container is None:
        return Operation("create", service.name, "is not there yet")
    if why := _difference(service, container, project, snapshot, hashes):
        return Operation("replace", service.name, why, container)
    verb, cause = _by_state(service, container, project)
    return Operation(verb, service.name, cause, container)


def _difference(
    service: ServiceSpec,
    container: ContainerState,
    project: ProjectSpec,
    snapshot: ObservedState,
    hashes: Mapping[str, str],
) -> str:
    """Why the container is not what the file says; "" when it is."""
    if container.name != service.container:
        return f"is called {container.name}"
    if why := _changed(service, container, hashes.get(service.name)):
        return why
    image = snapshot.image(service.image)
    if image is not None and image != container.image:
        return f"{service.image} is another build now"
    wanted = {project.network(use.network).name for use in service.networks} or {labels.NO_NETWORK}
    if wanted != container.networks:
        return f"is not on the networks {', '.join(sorted(wanted))}"
    return "cannot be started again" if container.status in ("dead", "removing") else ""


def _changed(service: ServiceSpec, container: ContainerState, wanted: str | None) -> str:
    """The kit's digests name what changed. Compose's hash counts as well: either may be of an older version."""
    if wanted is not None and container.label(labels.CONFIG_HASH) == wanted:
        return ""
    if before := container.label(labels.DIGESTS):
        return _keys_changed(labels.changed_keys(before, service), service, container)
    return "its settings changed" if wanted else "docker compose made it, and is not here to compare its settings"


def _keys_changed(keys: tuple[str, ...], service: ServiceSpec, container: ContainerState) -> str:
    """Where the command changed, its flags say it best; the kit's own labels follow from them."""
    said = command_words(container.command, service.command) if "command" in keys else ""
    if not said:
        return f"{', '.join(keys)} changed" if keys else ""
    others = [key for key in keys if key not in ("command", "labels")]
    return "; ".join([said, *([f"{', '.join(others)} changed"] if others else [])])


def _by_state(service: ServiceSpec, container: ContainerState, project: ProjectSpec) -> tuple[ServiceVerb, str]:
    if container.status == "paused":
        return "resume", "was paused"
    if container.status == "created":
        return "start", "was made, but not started"
    if container.status == "exited":
        if container.exit_code == 0 and _is_one_shot(service, project):
            return "keep", "did its work"
        return "start", f"had stopped with code {container.exit_code}"
    if container.health == "unhealthy":
        return "restart", "was unhealthy"
    return "keep", "unchanged"


def _restarted_with(project: ProjectSpec, services: Iterable[Operation]) -> Iterator[Operation]:
    """What runs is restarted when a dependency that it restarts with is started now, or was since its own start;
    `services` stand in boot order."""
    decided: dict[str, Operation] = {}
    for op in services:
        needs = [decided[need.service] for need in project.service(op.name).depends_on if need.restart]
        if op.verb == "keep" and op.container and op.container.status == "running":
            why = next(filter(None, (_lost(need, op.container) for need in needs)), "")
            op = replace(op, verb="restart", cause=why) if why else op
        decided[op.name] = op
        yield op


def _lost(need: Operation, dependent: ContainerState) -> str:
    """Why a container must follow its dependency; "" when it need not."""
    if need.verb in STARTING:
        return f"its dependency {need.name} is being {'recreated' if need.verb in RECREATING else 'restarted'}"
    since, started = need.container.started if need.container else None, dependent.started
    older = since is not None and started is not None and (since - started).total_seconds() > TOGETHER
    return f"was started before its dependency {need.name}" if older else ""


def _is_one_shot(service: ServiceSpec, project: ProjectSpec) -> bool:
    needs = (need for other in project.services for need in other.depends_on if need.service == service.name)
    return any(need.condition == "service_completed_successfully" for need in needs)


def _pulls(project: ProjectSpec, snapshot: ObservedState, services: Iterable[Operation]) -> Iterator[Operation]:
    needed: dict[str, list[str]] = {}
    for op in services:
        image = project.service(op.name).image
        if op.verb in ("create", "replace") and snapshot.image(image) is None:
            needed.setdefault(image, []).append(op.name)
    for image, names in needed.items():
        yield Operation("pull", image, f"is not on this machine; needed by {', '.join(names)}")


def _removals(
    project: ProjectSpec, snapshot: ObservedState, current: Mapping[str, ContainerState], cut_off: set[str]
) -> Iterator[Operation]:
    """Last started first."""
    kept = {container.id for container in current.values()}
    wanted = {service.name for service in project.services}
    for container in stop_order(snapshot.containers):
        if container.service not in wanted:
            yield Operation("remove", container.name, "is no longer in the file", container)
        elif container.id not in kept:
            yield Operation("remove", container.name, "is one too many", container)
        elif container.id in cut_off:
            yield Operation("remove", container.name, "its network is recreated", container)


def _drains(snapshot: ObservedState, operations: Iterable[Operation]) -> Iterator[Operation]:
    if names := _routed(snapshot, operations):
        cause = "their open requests are answered before they stop"
        yield Operation("drain", ", ".join(names), cause, targets=tuple(names))


def _routed(snapshot: ObservedState, operations: Iterable[Operation]) -> list[str]:
    """Workers that will stop while a router sends them requests."""
    if not any(c.label(kit_labels.ROLE) == "router" and c.status == "running" for c in snapshot.containers):
        return []
    stopping = [op.container for op in operations if op.verb in ("remove", "replace", "restart") and op.container]
    return [c.service for c in stopping if c.label(kit_labels.ROLE) == "worker" and c.status == "running"]


def stop_order(containers: Iterable[ContainerState]) -> tuple[ContainerState, ...]:
    """Who depends on another goes first, as their labels say."""
    listed = sorted(containers, key=lambda container: container.name)
    services = {container.service for container in listed}
    needs = {container.service: _needs(container) for container in listed}
    order = {name: place for place, name in enumerate(boot_order(sorted(services), needs))}
    return tuple(sorted(listed, key=lambda container: order[container.service], reverse=True))


def _needs(container: ContainerState) -> list[str]:
    return [need.split(":", 1)[0] for need in container.label(labels.DEPENDS_ON).split(",") if need]


def _recreated(op: Operation) -> Operation:
    return Operation("create", op.name, "its network is recreated")


def _networks(project: ProjectSpec, snapshot: ObservedState, remade: list[NetworkSpec]) -> Iterator[Operation]:
    for network in project.networks:
        missing = snapshot.network(network.name) is None and not network.external
        if missing or network in remade:
            yield Operation("create network", network.name, "internal" if network.internal else "reaches the outside")


def _volumes(project: ProjectSpec, snapshot: ObservedState) -> Iterator[Operation]:
    for volume in project.volumes:
        if volume.name not in snapshot.volumes and not volume.external:
            yield Operation("create volume", volume.name, "is not there yet")


def _early_stops(project: ProjectSpec, services: Iterable[Operation], turns: Collection[str]) -> tuple[Operation, ...]:
    workers = [op for op in services if op.verb in STARTING and project.service(op.name).is_worker]
    stops = (
        Operation("stop", op.name, "its memory must be free before another worker starts", op.container)
        for op in workers[1:]
        if op.name not in turns
        and op.verb in ("replace", "restart")
        and op.container
        and op.container.status == "running"
    )
    return tuple(reversed(list(stops)))
