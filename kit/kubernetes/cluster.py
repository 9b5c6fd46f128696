"""What a cluster is asked, as a Protocol, and where each kind of object lies in its API.

Objects are the API's own JSON. A cluster that refuses, or that does not answer for a minute, is a TargetError with the
reason it gave; a conflict with another field manager is one of its own, because nothing is forced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from kit.errors import Problem, TargetError

FIELD_MANAGER = "monogpu-kit"
Json = Mapping[str, Any]

# Kind -> group and version, and its plural in paths.
KINDS = {
    "Namespace": ("v1", "namespaces"),
    "ConfigMap": ("v1", "configmaps"),
    "PersistentVolumeClaim": ("v1", "persistentvolumeclaims"),
    "ResourceClaim": ("resource.k8s.io/v1", "resourceclaims"),
    "ResourceClaimTemplate": ("resource.k8s.io/v1", "resourceclaimtemplates"),
    "Service": ("v1", "services"),
    "NetworkPolicy": ("networking.k8s.io/v1", "networkpolicies"),
    "Deployment": ("apps/v1", "deployments"),
    "StatefulSet": ("apps/v1", "statefulsets"),
    "Job": ("batch/v1", "jobs"),
    "PodDisruptionBudget": ("policy/v1", "poddisruptionbudgets"),
    "Pod": ("v1", "pods"),
    "Event": ("v1", "events"),
    "ResourceQuota": ("v1", "resourcequotas"),
}


class ApplyConflict(TargetError):
    """Another field manager owns a field that would be changed."""


class ClusterGone(TargetError):
    """The API server does not answer."""


@dataclass(frozen=True)
class ExecResult:
    """How a program in a container ended, and what it printed; `code` is None where the connection was cut."""

    code: int | None
    text: str


class Cluster(Protocol):
    """One cluster. Every call is bounded; none changes what it does not name."""

    def version(self) -> str:
        """Such as v1.36.2."""

    def apply(self, one: Json, manager: str = FIELD_MANAGER) -> Json:
        """Server-side apply, never forced: what the object is now. Raises ApplyConflict."""

    def get(self, kind: str, namespace: str, name: str) -> Json | None:
        """An object, None where it is not there."""

    def list(self, kind: str, namespace: str, labels: Mapping[str, str] | None = None) -> Sequence[Json]:
        """The objects with these labels; () where the cluster does not know the kind."""

    def await_change(self, kind: str, namespace: str, seconds: float) -> None:
        """Returns with the next change of an object of a kind, at the latest after `seconds`."""

    def delete(self, kind: str, namespace: str, name: str) -> None:
        """Deletes an object and what it owns, if it is there."""

    def logs(self, namespace: str, pod: str, container: str, previous: bool = False) -> str:
        """The end of a container's log; "" where it has none."""

    def exec(
        self, namespace: str, pod: str, container: str, command: Sequence[str], stdin: Path | None = None
    ) -> ExecResult:
        """Runs a program in a container, with a file as its input."""

    def forward(self, namespace: str, pod: str, port: int) -> AbstractContextManager[str]:
        """A URL on 127.0.0.1 that leads to a port of a pod, as long as it is entered."""


def path_of(kind: str, namespace: str = "", name: str = "") -> str:
    """The path of an object, or of all of a kind."""
    version, plural = KINDS[kind]
    root = f"/api/{version}" if version == "v1" else f"/apis/{version}"
    within = f"/namespaces/{namespace}" if namespace and kind != "Namespace" else ""
    return f"{root}{within}/{plural}" + (f"/{name}" if name else "")


def refusal(status: int, body: Json, what: str) -> TargetError:
    """An API server's refusal, with what can be done about it."""
    said = str(body.get("message") or f"HTTP {status}")
    if status == 409 and _managers(body):
        fields = "; ".join(f"{field}: {manager}" for field, manager in _managers(body))
        needed = "nothing was forced: take the change into monogpu.yaml, or have the other manager give the field up"
        return ApplyConflict(Problem(f"{what}: another manager owns fields that would change: {fields}", needed))
    advice = {
        401: "the kubeconfig's credentials are not accepted; log in again",
        403: "ask for this permission, or use a kubeconfig that has it",
        422: "the API server does not take the object; `--dry-run=server` shows the same",
        429: "the API server is busy; try again later",
    }.get(status, "")
    return TargetError(Problem(f"{what}: {said}", advice))


def _managers(body: Json) -> list[tuple[str, str]]:
    """(field, what the server says of its manager) of an apply conflict."""
    causes = (body.get("details") or {}).get("causes") or []
    conflicts = (one for one in causes if one.get("reason") == "FieldManagerConflict")
    return [(one.get("field", "?"), one.get("message", "")) for one in conflicts]
