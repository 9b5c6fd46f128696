"""Applies printed objects, each server-side and nothing forced, and removes what left the manifest; volumes never."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kit.compose.wait import Clock
from kit.errors import Problem, TargetError
from kit.kubernetes.cluster import Cluster, Json
from kit.kubernetes.names import MANAGER, PROJECT, US, dns_label
from kit.stack.render import Rendered

# What leaves the cluster when it leaves the manifest, workloads first: their pods free the card for what comes.
PRUNED = (
    "Deployment", "StatefulSet", "Job", "PodDisruptionBudget", "NetworkPolicy", "Service", "ConfigMap",
    "ResourceClaim", "ResourceClaimTemplate",
)  # fmt: skip
ALL_KINDS = (*PRUNED, "PersistentVolumeClaim", "Pod")
Key = tuple[str, str]  # kind and name


def parsed(rendered: Rendered) -> list[Json]:
    """The objects of printed files, in the order in which they are applied."""
    import yaml

    return [one for file in rendered.files for one in yaml.safe_load_all(file.text) if one]


def ours(project: str) -> dict[str, str]:
    """The labels of everything that was printed for a project."""
    return {PROJECT: dns_label(project), MANAGER: US}


def key_of(one: Json) -> Key:
    return one["kind"], one["metadata"]["name"]


def apply_all(cluster: Cluster, objects: Sequence[Json]) -> list[Json]:
    """What the objects are now. Raises TargetError with the first that is refused."""
    return [cluster.apply(one) for one in objects]


def leftover(printed: Iterable[Json], found: Iterable[Json]) -> list[Key]:
    """What is there and was not printed, in the order in which it is removed. What other objects own goes with them."""
    kept = {key_of(one) for one in printed}
    gone = [key_of(one) for one in found if key_of(one) not in kept and not one["metadata"].get("ownerReferences")]
    return sorted((key for key in gone if key[0] in PRUNED), key=lambda key: PRUNED.index(key[0]))


def prune(cluster: Cluster, namespace: str, project: str, printed: Sequence[Json]) -> list[Key]:
    """Removes what left the manifest: what was removed."""
    found = [{**one, "kind": kind} for kind in PRUNED for one in cluster.list(kind, namespace, ours(project))]
    gone = leftover(printed, found)
    for kind, name in gone:
        cluster.delete(kind, namespace, name)
    return gone


def changed_again(cluster: Cluster, objects: Sequence[Json]) -> list[Key]:
    """Applies objects that are there: those whose content differs afterwards."""
    before = {key_of(one): _content(cluster.get(one["kind"], _namespace(one), key_of(one)[1])) for one in objects}
    after = {key_of(one): _content(now) for one, now in zip(objects, apply_all(cluster, objects), strict=True)}
    return [key for key in after if after[key] != before[key]]


def _content(one: Json | None) -> object:
    """What changes when an object's content does: its version also changes with its status."""
    if one is None:
        return None
    meta = one["metadata"]
    return meta.get("generation"), one.get("spec"), one.get("data"), meta.get("labels"), meta.get("annotations")


def _namespace(one: Json) -> str:
    return str(one["metadata"].get("namespace", ""))


def named(keys: Iterable[Key]) -> str:
    """Such as Deployment/chat, Service/chat."""
    return ", ".join(f"{kind}/{name}" for kind, name in keys)


def remove_all(cluster: Cluster, namespace: str, project: str, seconds: float, clock: Clock) -> None:
    """Removes a namespace and what is in it, volumes too. Raises TargetError with what is left after `seconds`."""
    for kind in ALL_KINDS[:-1]:
        for one in cluster.list(kind, namespace, ours(project)):
            cluster.delete(kind, namespace, one["metadata"]["name"])
    cluster.delete("Namespace", "", namespace)
    until = clock.now() + seconds
    while cluster.get("Namespace", "", namespace) is not None:
        if clock.now() >= until:
            what = f"the namespace {namespace} is still ending after {seconds:.0f} s"
            raise TargetError(Problem(what, f"left: {named(_left(cluster, namespace))}"))
        clock.sleep(1.0)
    if left := _left(cluster, namespace):
        raise TargetError(Problem(f"left behind: {named(left)}"))


def _left(cluster: Cluster, namespace: str) -> list[Key]:
    return [(kind, one["metadata"]["name"]) for kind in ALL_KINDS for one in cluster.list(kind, namespace)]
