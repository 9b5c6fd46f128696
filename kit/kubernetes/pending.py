"""Why a stack is not ready yet, in words: from its pods, volumes, workloads and events. Pure.

A reason that cannot pass by itself is `final`: an image that is not there, a pod that Pod Security refuses, a Secret
that is missing, a worker that dies again and again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kit.diagnostics.cluster import explain_pod

Json = Mapping[str, Any]

_BROKEN_IMAGE = ("ImagePullBackOff", "ErrImagePull", "ErrImageNeverPull", "InvalidImageName")
CRASHES = 3  # restarts of a container that never became ready, after which waiting is over


@dataclass(frozen=True)
class Pending:
    """`where` is not ready because of `what`; `crashed` names the (pod, container) whose log says why."""

    where: str
    what: str
    final: bool = False
    crashed: tuple[str, str] | None = None

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


def pending(
    workloads: Iterable[Json], pods: Sequence[Json], claims: Iterable[Json] = (), events: Sequence[Json] = ()
) -> list[Pending]:
    """Everything that a stack waits for; [] when all of it is ready and every job is complete."""
    found = [*_of_claims(claims, events), *(one for pod in pods for one in _of_pod(pod))]
    for workload in workloads:
        found += _of_workload(workload, pods)
    return list(dict.fromkeys(found))


def _name(one: Json) -> str:
    return f"{one.get('kind', 'Pod')}/{one['metadata']['name']}"


def _of_workload(workload: Json, pods: Sequence[Json]) -> Iterator[Pending]:
    spec, status = workload.get("spec") or {}, workload.get("status") or {}
    where = _name(workload)
    for condition in status.get("conditions") or []:
        if condition.get("type") == "ReplicaFailure" and condition.get("status") == "True":
            yield _explained(where, "the pod cannot be made", condition.get("message", ""))
        if condition.get("type") == "Failed" and condition.get("status") == "True":
            yield Pending(where, f"the job failed: {condition.get('message', '')}", final=True)
    if workload["kind"] == "Job":
        if not status.get("succeeded"):
            yield Pending(where, "the job is not complete")
        return
    wanted = spec.get("replicas", 1)
    seen = status.get("observedGeneration", 0) >= workload["metadata"].get("generation", 0)
    ready = min(status.get("readyReplicas", 0), status.get("updatedReplicas", 0))
    if not seen or ready < wanted or status.get("replicas", 0) > wanted:
        yield Pending(where, f"{ready} of {wanted} pods are ready")


def _explained(where: str, what: str, message: str) -> Pending:
    """With the cause and the fix where the message is known; one that cannot pass by itself is final."""
    found = explain_pod(message)
    if found is None:
        return Pending(where, f"{what}: {message or 'no reason is given'}")
    return Pending(where, f"{what}: {found.cause}; {found.fix} ({message})", final=not found.retryable)


def _of_claims(claims: Iterable[Json], events: Sequence[Json]) -> Iterator[Pending]:
    for claim in claims:
        phase = (claim.get("status") or {}).get("phase")
        if phase in (None, "Bound"):
            continue
        uid = claim["metadata"].get("uid")
        said = [e.get("message", "") for e in events if (e.get("involvedObject") or {}).get("uid") == uid]
        why = f": {said[-1]}" if said else ""
        yield Pending(_name({"kind": "PersistentVolumeClaim", **claim}), f"the volume is {phase}{why}")


def _of_pod(pod: Json) -> Iterator[Pending]:
    status = pod.get("status") or {}
    where = _name({"kind": "Pod", **pod})
    if pod["metadata"].get("deletionTimestamp"):
        yield Pending(where, "it is ending")
        return
    for condition in status.get("conditions") or []:
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            yield _explained(where, "no node takes it", condition.get("message", ""))
    for one in (*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])):
        yield from _of_container(pod, where, one)


def _of_container(pod: Json, where: str, container: Json) -> Iterator[Pending]:
    name, restarts = container["name"], container.get("restartCount", 0)
    waiting = (container.get("state") or {}).get("waiting") or {}
    reason, message = waiting.get("reason", ""), waiting.get("message", "")
    at = (pod["metadata"]["name"], name)
    if reason in (*_BROKEN_IMAGE, "CreateContainerConfigError"):
        yield replace(_explained(where, f"{name} does not start", f"{reason}: {message}"), final=True)
    elif reason in ("CrashLoopBackOff", "RunContainerError", "CreateContainerError"):
        over = restarts >= CRASHES or reason != "CrashLoopBackOff"
        yield Pending(where, f"{name} ended {restarts} times{_ended(container)}", over, at)
    elif "running" in (container.get("state") or {}) and not container.get("ready", True):
        again = f", restarted {restarts} times" if restarts else ""
        yield Pending(where, f"{name} is starting{again}")


def _ended(container: Json) -> str:
    last = (container.get("lastState") or {}).get("terminated") or {}
    why = {"OOMKilled": "out of memory"}.get(last.get("reason", ""), "")
    code = last.get("exitCode")
    return "" if code is None else f", last with exit code {code}" + (f" ({why})" if why else "")
