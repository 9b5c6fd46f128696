"""Compares the compose file with what Docker has: the operations that `up` needs, each with its cause. Pure.

Order is part of the decision. Images come first, so that nothing is stopped for an image that cannot be pulled. Then
the workers that will stop are drained, while they still serve. Then what goes away, so that its memory is free. Workers
that will be replaced go away one by one, each at its turn, or, where one needs the memory of another, all of them
before the first one starts (rolling.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from kit.compose import create_request as labels
from kit.compose.observed import ContainerState, ObservedState
from kit.compose.operation import RECREATING, STARTING, Operation, drain, service_operation
from kit.compose.rolling import early_stops, routed, serve_on, with_drains
from kit.compose.spec import NetworkSpec, ProjectSpec, boot_order

TOGETHER = 2.0  # seconds between the starts of what Docker starts at once, after a reboot
NETWORK_RECREATED = "its network is recreated"


def reconcile(
    project: ProjectSpec, observed: ObservedState, hashes: Mapping[str, str], prune: bool = False
) -> tuple[Operation, ...]:
    """`hashes` are the config hashes that Docker Compose has for the services. `prune`: the project's volumes that the
    file no longer names are removed."""
    current = _current(project, observed)
    remade = {network.name: why for network in project.networks if (why := _why_remade(network, observed))}
    cut_off = {container.id for container in observed.containers if remade.keys() & container.networks}
    services = [service_operation(each, current.get(each.name), project, observed, hashes) for each in project.services]
    services = [
        Operation("create", op.name, NETWORK_RECREATED) if op.container and op.container.id in cut_off else op
        for op in services
    ]
    services = list(_restarted_with(project, services))
    unused = sorted(observed.owned - {volume.name for volume in project.volumes}) if prune else []
    removals = tuple(_removals(observed, current, cut_off))
    serving = serve_on(project, services)
    drained = routed(observed, (*removals, *(op for op in services if op.name not in serving)))
    return (
        *_pulls(project, observed, services),
        *([drain(drained)] if drained else ()),
        *removals,
        *(Operation("remove network", name, why) for name, why in remade.items()),
        *(
            Operation("create network", each.name, "internal" if each.internal else "reaches the outside")
            for each in project.networks
            if each.name in remade or (observed.network(each.name) is None and not each.external)
        ),
        *(
            Operation("create volume", each.name, "is not there yet")
            for each in project.volumes
            if each.name not in observed.volumes and not each.external
        ),
        *early_stops(project, [op for op in services if op.name not in serving]),
        *with_drains(services, routed(observed, (op for op in services if op.name in serving))),
        *(Operation("remove volume", name, "is no longer in the file") for name in unused),
    )


def _current(project: ProjectSpec, observed: ObservedState) -> dict[str, ContainerState]:
    """The container of each service: the one with the right name, or the first."""
    names = {service.name: service.container for service in project.services}
    found = [container for container in observed.containers if container.service in names]
    found.sort(key=lambda each: (each.name != names[each.service], each.number, each.name), reverse=True)
    return {container.service: container for container in found}


def _why_remade(network: NetworkSpec, observed: ObservedState) -> str:
    """Why a network that is there is not the one that the file wants; "" when it is. The daemon may add options of its
    own; those of the file must be there."""
    there = observed.network(network.name)
    if there is None or network.external:
        return ""
    if there.internal != network.internal:
        return "must reach nothing outside" if network.internal else "must reach the outside"
    return "" if set(network.options) <= set(there.options) else "its options changed"


def _restarted_with(project: ProjectSpec, services: Iterable[Operation]) -> Iterator[Operation]:
    """What runs is restarted when a dependency that it restarts with is started now, or was since its own start;
    `services` are in boot order."""
    decided: dict[str, Operation] = {}
    for op in services:
        needs = [decided[need.service] for need in project.service(op.name).depends_on if need.restart]
        if op.verb == "keep" and op.container and op.container.status == "running":
            why = next(filter(None, (_follows(need, op.container) for need in needs)), "")
            op = replace(op, verb="restart", cause=why) if why else op
        decided[op.name] = op
        yield op


def _follows(need: Operation, dependent: ContainerState) -> str:
    """Why a container must be restarted with its dependency; "" when it need not."""
    if need.verb in STARTING:
        return f"its dependency {need.name} is being {'recreated' if need.verb in RECREATING else 'restarted'}"
    since, started = need.container.started if need.container else None, dependent.started
    older = since is not None and started is not None and (since - started).total_seconds() > TOGETHER
    return f"was started before its dependency {need.name}" if older else ""


def _pulls(project: ProjectSpec, observed: ObservedState, services: Iterable[Operation]) -> Iterator[Operation]:
    needed: dict[str, list[str]] = {}
    for op in services:
        image = project.service(op.name).image
        if op.verb in RECREATING and observed.image(image) is None:
            needed.setdefault(image, []).append(op.name)
    for image, names in needed.items():
        yield Operation("pull", image, f"is not on this machine; needed by {', '.join(names)}")


def _removals(observed: ObservedState, current: Mapping[str, ContainerState], cut_off: set[str]) -> Iterator[Operation]:
    """Containers of the project that the file does not want. Last started first."""
    kept = {container.id for container in current.values()}
    for container in stop_order(observed.containers):
        if container.service not in current:
            yield Operation("remove", container.name, "is no longer in the file", container)
        elif container.id not in kept:
            yield Operation("remove", container.name, "is one too many", container)
        elif container.id in cut_off:
            yield Operation("remove", container.name, NETWORK_RECREATED, container)


def stop_order(containers: Iterable[ContainerState]) -> tuple[ContainerState, ...]:
    """Dependents go first, as their labels say."""
    listed = sorted(containers, key=lambda container: container.name)
    needs = {
        container.service: [need.split(":", 1)[0] for need in container.label(labels.DEPENDS_ON).split(",")]
        for container in listed
    }
    order = boot_order(sorted(needs), needs)
    return tuple(sorted(listed, key=lambda container: order.index(container.service), reverse=True))
