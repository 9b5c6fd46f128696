"""Waits until a stack is ready: bounded, and with what it waits for said as it changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kit.compose.wait import Clock
from kit.diagnostics.explain import explain
from kit.errors import Problem, TargetError
from kit.kubernetes.apply import key_of, ours
from kit.kubernetes.cluster import Cluster, Json
from kit.kubernetes.pending import Pending, pending

WORKLOADS = ("Deployment", "StatefulSet", "Job")
LOOK_SECONDS = 5.0
Said = Callable[[str], None]


def look(cluster: Cluster, namespace: str, project: str, printed: Sequence[Json]) -> list[Pending]:
    """What the printed objects wait for now."""
    keys = {key_of(one) for one in printed}
    labels = ours(project)
    workloads: list[dict[str, Any]] = [
        {**one, "kind": kind} for kind in WORKLOADS for one in cluster.list(kind, namespace, labels)
    ]
    there = [one for one in workloads if key_of(one) in keys]
    missing = [Pending(f"{kind}/{name}", "it is not there") for kind, name in keys if kind in WORKLOADS]
    missing = [one for one in missing if one.where not in {f"{w['kind']}/{w['metadata']['name']}" for w in there}]
    pods = cluster.list("Pod", namespace, labels)
    claims = cluster.list("PersistentVolumeClaim", namespace)
    events = cluster.list("Event", namespace) if any(_unbound(claim) for claim in claims) else ()
    return [*missing, *pending(there, pods, claims, events)]


def _unbound(claim: Json) -> bool:
    return (claim.get("status") or {}).get("phase") != "Bound"


def until_ready(
    cluster: Cluster,
    namespace: str,
    project: str,
    printed: Sequence[Json],
    seconds: float,
    clock: Clock,
    say: Said,
) -> float:
    """Seconds until everything was ready. Raises TargetError with what it still waited for, or with what cannot pass by
    itself, and the log of what died."""
    began = clock.now()
    last = ""
    while True:
        waiting = look(cluster, namespace, project, printed)
        if not waiting:
            return clock.now() - began
        if any(one.final for one in waiting):
            raise failed(cluster, namespace, [one for one in waiting if one.final])
        passed = clock.now() - began
        if passed >= seconds:
            raise failed(cluster, namespace, waiting, f"not ready after {passed:.0f} s")
        text = "; ".join(str(one) for one in waiting[:3])
        if text != last:
            say(f"  {passed:4.0f} s  {text}")
            last = text
        cluster.await_change("Pod", namespace, min(LOOK_SECONDS, seconds - passed))


def failed(cluster: Cluster, namespace: str, waiting: Sequence[Pending], head: str = "") -> TargetError:
    """The error of a wait that is over, with the cause that a log of a crash names."""
    problems = [
        Problem(": ".join(part for part in (head, str(one)) if part), _cause(cluster, namespace, one))
        for one in waiting
    ]
    logs = [_log(cluster, namespace, one) for one in waiting if one.crashed]
    return TargetError(problems, "\n".join(log[-2000:] for log in logs if log))


def _cause(cluster: Cluster, namespace: str, one: Pending) -> str:
    if one.crashed is None:
        return ""
    found = explain(_log(cluster, namespace, one))
    return f"{found.cause}; {found.fix}" if found else ""


def _log(cluster: Cluster, namespace: str, one: Pending) -> str:
    pod, container = one.crashed or ("", "")
    return cluster.logs(namespace, pod, container, previous=True) or cluster.logs(namespace, pod, container)
