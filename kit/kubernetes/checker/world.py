"""The objects of a stack as the rules look at them: by kind, by name, and the pods with who makes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

Object = Mapping[str, Any]

COMPONENT = "app.kubernetes.io/component"
POD_NAME = "statefulset.kubernetes.io/pod-name"
SIDECAR = "Always"


@dataclass(frozen=True)
class Fault:
    """`what` is wrong with `where`, such as Deployment/chat, by the rule called `rule`."""

    rule: str
    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what} ({self.rule})"


@dataclass(frozen=True)
class Rule:
    """A rule's name, what it demands, and what finds (where, what) of each fault."""

    name: str
    demands: str
    faults: Callable[[World], Iterable[tuple[str, str]]]

    def find(self, world: World) -> list[Fault]:
        """A rule that meets a shape it cannot read has found a fault, not failed."""
        try:
            return [Fault(self.name, where, what) for where, what in self.faults(world)]
        except (TypeError, ValueError, KeyError, AttributeError, IndexError) as error:
            return [Fault(self.name, "objects", f"a field is missing or of another type: {error!r}")]


@dataclass(frozen=True)
class PodView:
    """The pods of a workload: `copies` of them; None where an autoscaler chooses."""

    kind: str
    name: str
    copies: int | None
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    spec: Object
    owner: Object

    @property
    def where(self) -> str:
        return f"{self.kind}/{self.name}"

    @property
    def component(self) -> str:
        return self.labels.get(COMPONENT, "")

    @property
    def containers(self) -> list[Object]:
        return list(self.spec.get("containers") or [])

    @property
    def sidecars(self) -> list[Object]:
        """Native ones: init containers that keep running."""
        return [one for one in self.spec.get("initContainers") or [] if one.get("restartPolicy") == SIDECAR]

    @property
    def inits(self) -> list[Object]:
        """Init containers that end before the next begins."""
        return [one for one in self.spec.get("initContainers") or [] if one.get("restartPolicy") != SIDECAR]

    @property
    def running(self) -> list[Object]:
        """What runs as long as the pod: sidecars, then containers."""
        return [*self.sidecars, *self.containers]

    @property
    def every(self) -> list[Object]:
        return [*(self.spec.get("initContainers") or []), *self.containers]

    @property
    def workers(self) -> list[Object]:
        return self.running if self.component == "worker" else []

    @property
    def volumes(self) -> dict[str, Object]:
        return {one["name"]: one for one in self.spec.get("volumes") or []}

    @property
    def templates(self) -> dict[str, Object]:
        """The claims that a StatefulSet makes for each of its pods."""
        return {one["metadata"]["name"]: one for one in self.owner["spec"].get("volumeClaimTemplates") or []}


@dataclass(frozen=True)
class World:
    """All objects of one stack."""

    objects: tuple[Object, ...]

    def of(self, kind: str) -> dict[str, Object]:
        """The objects of a kind by their names."""
        return {one["metadata"]["name"]: one for one in self.objects if one["kind"] == kind}

    @cached_property
    def pods(self) -> tuple[PodView, ...]:
        """The pods of Deployments, StatefulSets and Jobs."""
        return tuple(_pod(one) for one in self.objects if one["kind"] in ("Deployment", "StatefulSet", "Job"))

    @property
    def serving(self) -> tuple[PodView, ...]:
        """Pods that serve: no Jobs."""
        return tuple(pod for pod in self.pods if pod.kind != "Job")

    def selected(self, selector: Mapping[str, str]) -> list[tuple[PodView, int | None]]:
        """The pods that labels select, with the ordinal where they name one pod of a StatefulSet."""
        name = selector.get(POD_NAME)
        rest = {key: value for key, value in selector.items() if key != POD_NAME}
        found: list[tuple[PodView, int | None]] = []
        for pod in self.pods:
            if any(pod.labels.get(key) != value for key, value in rest.items()):
                continue
            if name is None:
                found.append((pod, None))
            elif pod.kind == "StatefulSet" and name.startswith(f"{pod.name}-"):
                ordinal = int(name.removeprefix(f"{pod.name}-"))
                found += [(pod, ordinal)] if pod.copies is None or ordinal < pod.copies else []
        return found


def _pod(owner: Object) -> PodView:
    template = owner["spec"]["template"]
    said = template.get("metadata") or {}
    copies = owner["spec"].get("replicas", None if owner["kind"] == "StatefulSet" else 1)
    return PodView(
        owner["kind"],
        owner["metadata"]["name"],
        copies,
        said.get("labels") or {},
        said.get("annotations") or {},
        template["spec"],
        owner,
    )


def containers(world: World) -> Iterator[tuple[PodView, Object, str]]:
    """(pod, container, where) of every container, also those that end."""
    for pod in world.pods:
        for one in pod.every:
            yield pod, one, f"{pod.where}: container {one.get('name')}"


def in_bytes(quantity: Any) -> int:
    """A quantity of memory, such as 512Mi. Raises ValueError."""
    text = str(quantity)
    for unit, size in (("Ki", 2**10), ("Mi", 2**20), ("Gi", 2**30), ("Ti", 2**40)):
        if text.endswith(unit):
            return int(float(text[:-2]) * size)
    return int(text)
