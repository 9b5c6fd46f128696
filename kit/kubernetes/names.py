"""Names and labels of a stack's objects. Kubernetes' recommended labels say what an object is; what `status` reads of a
container in Docker are annotations of its pod here, under the same names."""

from __future__ import annotations

import re
from collections.abc import Iterable

from kit.stack.model import Service
from kit.stack.render import checksum
from kit.stack.yaml_lines import Node

NAME = "app.kubernetes.io/name"
PROJECT = "app.kubernetes.io/part-of"
COMPONENT = "app.kubernetes.io/component"  # worker, router, proxy or download: the role of Compose's labels
MANAGER = "app.kubernetes.io/managed-by"
US = "monogpu-kit"
POD_NAME = "statefulset.kubernetes.io/pod-name"
HOST = "kubernetes.io/hostname"

CARD = "card"  # the claim of the one card, and the StatefulSet of a card with all of its workers
CACHE = "models"  # the volume with what is downloaded or uploaded
COMPILED = "compiled"  # the volume with what workers compile
USER = 65532

Keys = dict[str, Node]


def dns_label(text: str) -> str:
    """A project's or a host's name as one label of a host name."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:63].rstrip("-") or "monogpu"


def unique(names: Iterable[str]) -> dict[str, str]:
    """Each name as a label of a host name; where two become equal, the second has a checksum behind it."""
    found: dict[str, str] = {}
    for name in names:
        label = dns_label(name)
        found.setdefault(name, f"{label[:54]}-{checksum(name)[:8]}" if label in found.values() else label)
    return found


def labels(project: str, name: str, component: str) -> Keys:
    """The labels of an object."""
    return {NAME: name, PROJECT: dns_label(project), COMPONENT: component, MANAGER: US}


def pods_of(project: str, name: str) -> Keys:
    """The labels by which a workload's pods are selected: they never change."""
    return {NAME: name, PROJECT: dns_label(project)}


def role_of(service: Service) -> str:
    """worker, router, proxy or download."""
    return dict(service.labels)["monogpu.role"]


def secret_of(project: str) -> str:
    """The Secret with the keys and tokens: you make it, nothing here prints one."""
    return f"{dns_label(project)}-keys"
