"""The namespace, the card's claim, volumes and ConfigMaps."""

from __future__ import annotations

from kit.kubernetes.layout import ClusterLayout, ClusterObject, named
from kit.kubernetes.names import CARD, PROJECT, Keys, dns_label, labels
from kit.kubernetes.pods import templates
from kit.kubernetes.volumes import claims, quantity
from kit.stack.labels import BYTES
from kit.stack.yaml_lines import Node
from kit.units import MIB

DEVICE_CLASS = "gpu.nvidia.com"


def namespace(layout: ClusterLayout) -> ClusterObject:
    """The namespace, where Kubernetes itself refuses pods that are not restricted."""
    level: Keys = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn", "audit")}
    metadata: Keys = {
        "name": layout.namespace,
        "labels": labels(layout.project, layout.namespace, "namespace") | level,
    }
    return ClusterObject({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})


def card(layout: ClusterLayout) -> list[ClusterObject]:
    """The claim that all workers of a card name, by dynamic resource allocation; none where it is not asked for."""
    if layout.gpu != "dra":
        return []
    needed = sum(share.total_bytes for share in layout.plan.shares)
    least = quantity(-(-needed // MIB) * MIB)
    memory = f'device.capacity["{DEVICE_CLASS}"].memory.compareTo(quantity("{least}")) >= 0'
    selectors: Node = [{"cel": {"expression": memory}}]
    device: Keys = {"deviceClassName": DEVICE_CLASS, "allocationMode": "ExactCount", "count": 1, "selectors": selectors}
    spec: Keys = {"devices": {"requests": [{"name": CARD, "exactly": device}]}}
    comment = (
        f"One card with at least {least}, what the workers were planned to use, for all of them together.",
        "Kubernetes >= 1.34 and NVIDIA's DRA driver; what keeps each to its share is its own number of bytes.",
    )
    said: Keys = {BYTES: str(needed)}
    if layout.shape == "deployment-per-model":
        return [named("resource.k8s.io/v1", "ResourceClaim", CARD, layout, "worker", {"spec": spec}, comment, said)]
    inner: Keys = {"metadata": {"labels": {PROJECT: dns_label(layout.project)}}, "spec": spec}
    return [
        named("resource.k8s.io/v1", "ResourceClaimTemplate", CARD, layout, "worker", {"spec": inner}, comment, said)
    ]


def volumes(layout: ClusterLayout) -> list[ClusterObject]:
    """The volumes that no StatefulSet claims for its pods."""
    in_set = templates(layout)
    found = ((name, spec) for name, spec in claims(layout).items() if name not in in_set)
    comment = {
        "models": "What is downloaded and uploaded; workers mount it read only.",
        "compiled": "What workers compile at their first start, so that the second is faster.",
    }
    return [
        named("v1", "PersistentVolumeClaim", name, layout, "storage", {"spec": spec}, (comment[name],))
        for name, spec in found
    ]


def configs(layout: ClusterLayout) -> list[ClusterObject]:
    """The files that the kit prints beside a compose file, one ConfigMap a folder."""
    folders: dict[str, Keys] = {}
    for file in layout.stack.files:
        folder, _, name = file.path.rpartition("/")
        folders.setdefault(dns_label(folder), {})[name] = file.text
    return [named("v1", "ConfigMap", name, layout, "config", {"data": data}) for name, data in folders.items()]
