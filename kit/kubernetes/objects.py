"""One object of Kubernetes, as it is printed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kit.kubernetes.layout import ClusterLayout
from kit.kubernetes.names import Keys, dns_label, labels
from kit.stack.yaml_lines import Node


@dataclass(frozen=True)
class ClusterObject:
    """`keys` as Kubernetes' API has them, below `comment` lines."""

    keys: Keys
    comment: tuple[str, ...] = ()

    @property
    def metadata(self) -> Mapping[str, Node]:
        found = self.keys["metadata"]
        return found if isinstance(found, Mapping) else {}


def named(
    version: str,
    kind: str,
    name: str,
    layout: ClusterLayout,
    component: str,
    body: Keys,
    comment: tuple[str, ...] = (),
    annotations: Keys | None = None,
) -> ClusterObject:
    """An object of the stack's namespace, with its labels."""
    said: Keys = {"annotations": annotations} if annotations else {}
    metadata: Keys = {
        "name": name,
        "namespace": layout.namespace,
        "labels": labels(layout.project, dns_label(name), component),
        **said,
    }
    return ClusterObject({"apiVersion": version, "kind": kind, "metadata": metadata, **body}, comment)
