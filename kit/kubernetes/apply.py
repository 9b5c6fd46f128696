"""Applies printed objects, each server-side and nothing forced, and removes what left the manifest; volumes never."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kit.kubernetes.cluster import Cluster, Json
from kit.kubernetes.names import MANAGER, PROJECT, US, dns_label
from kit.stack.render import Rendered

# What leaves the cluster when it leaves the manifest, workloads first: their pods free the card for what comes.
PRUNED = (
    "Deployment", "StatefulSet", "Job", "PodDisruptionBudget", "NetworkPolicy", "Service", "ConfigMap",
    "ResourceClaim", "ResourceClaimTemplate",
)  # fmt: skip
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
