"""Rolling update: a worker that must be replaced serves until its turn, unless another one needs its memory. Pure.

Workers go away one after another: each is drained and stopped when those before it serve again, so that one model at
a time is away, and a model with replicas never. That is right where no worker grows: what runs at any moment then fits,
as it fitted before. Otherwise all of them are drained and stopped before the first one starts: it may have been given
the memory that a later one frees.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate

from kit.compose.observed import ObservedState
from kit.compose.operation import STARTING, Operation, drain
from kit.compose.spec import ProjectSpec
from kit.stack import labels as kit_labels


def serve_on(project: ProjectSpec, services: Sequence[Operation]) -> frozenset[str]:
    """Workers that serve until their own turn; `services` are in boot order."""
    started = {op.name for op in services if op.verb in STARTING}
    starting = [op for op in services if op.name in started and project.service(op.name).is_worker]
    restarted_with = {need.service for op in services for need in project.service(op.name).depends_on if need.restart}
    growth = [more for op in starting if (more := _growth(project, op)) is not None]
    if started & restarted_with or len(growth) < len(starting):
        return frozenset()
    for place, grown in enumerate(accumulate(growth), 1):
        if grown > 0 and any(later.interrupts for later in starting[place:]):
            return frozenset()
    return frozenset(op.name for op in starting if op.interrupts)


def routed(observed: ObservedState, operations: Iterable[Operation]) -> list[str]:
    """Workers that will stop while a router sends them requests."""
    if not any(each.label(kit_labels.ROLE) == "router" and each.status == "running" for each in observed.containers):
        return []
    stopping = [op.container for op in operations if op.interrupts and op.container]
    return [container.service for container in stopping if container.label(kit_labels.ROLE) == "worker"]


def early_stops(project: ProjectSpec, services: Iterable[Operation]) -> Iterator[Operation]:
    """Workers that hold memory which another one needs first; the last in boot order goes first."""
    workers = [op for op in services if op.verb in STARTING and project.service(op.name).is_worker]
    for op in reversed(workers[1:]):
        if op.interrupts:
            yield Operation("stop", op.name, "its memory must be free before another worker starts", op.container)


def with_drains(services: Sequence[Operation], names: Collection[str]) -> Iterator[Operation]:
    """The operations on services, with a drain before each of `names`."""
    for op in services:
        if op.name in names:
            yield drain([op.name], before=op.name)
        yield op


def _growth(project: ProjectSpec, op: Operation) -> int | None:
    """Bytes that a worker will hold above what it holds, by its labels; None when they do not say."""
    new = _bytes(dict(project.service(op.name).labels))
    old = _bytes(op.container.labels or {}) if op.container and op.interrupts else 0
    return None if new is None or old is None else new - old


def _bytes(labels: Mapping[str, str]) -> int | None:
    value = labels.get(kit_labels.BYTES, "")
    return int(value) if value.isdecimal() else None
