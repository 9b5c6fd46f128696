"""Whose turn it is: a worker that must begin anew serves until then, unless another one needs its memory before. Pure.

Workers go away one after another: each is drained and stopped when those before it serve again, so that one name at a
time is away, and a name with replicas never. That is right where nobody grows: what runs at any moment then fits, as it
fitted before. Otherwise all of them are drained and stopped before the first one starts: it may have been given the
memory that a later one gives up.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from kit.compose.observed import ContainerState
from kit.compose.operation import STARTING, Operation
from kit.compose.spec import ProjectSpec
from kit.stack import labels as kit_labels

TAKES_AWAY = ("replace", "restart")


def serve_on(project: ProjectSpec, services: Sequence[Operation]) -> frozenset[str]:
    """Workers that serve until their own turn; `services` stand in boot order."""
    starting = [op for op in services if op.verb in STARTING and project.service(op.name).is_worker]
    if _lose_what_they_need(project, services):
        return frozenset()
    grown = 0
    for place, op in enumerate(starting):
        more = _growth(project, op)
        if more is None:
            return frozenset()
        grown += more
        if grown > 0 and any(_runs(later) for later in starting[place + 1 :]):
            return frozenset()
    return frozenset(op.name for op in starting if _runs(op))


def in_turn(services: Sequence[Operation], names: Collection[str]) -> Iterator[Operation]:
    """The operations on services, with a drain before each of `names`."""
    for op in services:
        if op.name in names:
            cause = "its open requests are answered before it stops"
            yield Operation("drain", op.name, cause, targets=(op.name,), before=op.name)
        yield op


def _lose_what_they_need(project: ProjectSpec, services: Sequence[Operation]) -> bool:
    """Whether a service begins anew that workers cannot be without for a moment."""
    anew = {op.name for op in services if op.verb in STARTING}
    return any(need.restart and need.service in anew for op in services for need in project.service(op.name).depends_on)


def _growth(project: ProjectSpec, op: Operation) -> int | None:
    """Bytes that a worker will hold above what it holds, by its labels; None when they do not say."""
    new = _bytes(dict(project.service(op.name).labels))
    old = 0 if not _runs(op) else _bytes((op.container.labels or {}) if op.container else {})
    return None if new is None or old is None else new - old


def _bytes(labels: Mapping[str, str]) -> int | None:
    said = labels.get(kit_labels.BYTES, "")
    return int(said) if said.isdecimal() else None


def _runs(op: Operation) -> bool:
    """Whether it serves now, and will not for a while."""
    found: ContainerState | None = op.container
    return op.verb in TAKES_AWAY and found is not None and found.status == "running"
