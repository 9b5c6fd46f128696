"""What a stack waits for, in words, from what the API says of it."""

from __future__ import annotations

from typing import Any

import pytest

from kit.kubernetes.pending import pending


def pod(name: str = "chat-0", **status: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "status": status}


def waiting(reason: str, message: str = "", restarts: int = 0, **more: Any) -> dict[str, Any]:
    state = {"waiting": {"reason": reason, "message": message}}
    return {"name": "chat", "restartCount": restarts, "ready": False, "state": state, **more}


OOM = {"exitCode": 137, "reason": "OOMKilled"}


def unscheduled(message: str) -> dict[str, Any]:
    return pod(conditions=[{"type": "PodScheduled", "status": "False", "message": message}])


# What the API says -> (what is said of it, whether waiting is over)
PODS: dict[str, tuple[dict[str, Any], str, bool]] = {
    "claim": (
        unscheduled("0/1 nodes are available: 1 cannot allocate all claims. still not schedulable"),
        "no node has a free card that the claim matches",
        False,
    ),
    "volume": (
        unscheduled("0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims."),
        "a volume is not provisioned; set kubernetes.storage_class",
        False,
    ),
    "memory": (unscheduled("0/2 nodes are available: 2 Insufficient memory."), "no node has enough memory", False),
    "plugin": (unscheduled("0/1 nodes are available: 1 Insufficient nvidia.com/gpu."), "device plugin", False),
    "taint": (unscheduled("0/1 nodes are available: 1 node(s) had untolerated taint {a: b}."), "tolerations", False),
    "affinity": (unscheduled("0/1: node(s) didn't match pod affinity rules."), "workers' pod", False),
    "unknown": (unscheduled("the moon is full"), "no node takes it: the moon is full", False),
    "image": (
        pod(containerStatuses=[waiting("ErrImageNeverPull", "Container image is not present")]),
        "its image is not on the node, and cannot be pulled",
        True,
    ),
    "secret": (
        pod(containerStatuses=[waiting("CreateContainerConfigError", 'secret "demo-keys" not found')]),
        "the Secret demo-keys is missing; make it",
        True,
    ),
    "crash": (
        pod(
            containerStatuses=[
                waiting(
                    "CrashLoopBackOff", restarts=4, lastState={"terminated": {"exitCode": 137, "reason": "OOMKilled"}}
                )
            ]
        ),
        "chat ended 4 times, last with exit code 137 (out of memory)",
        True,
    ),
    "crash-once": (pod(containerStatuses=[waiting("CrashLoopBackOff", restarts=1)]), "chat ended 1 times", False),
    "starting": (
        pod(containerStatuses=[{"name": "chat", "restartCount": 0, "ready": False, "state": {"running": {}}}]),
        "chat is starting",
        False,
    ),
    "ending": ({"metadata": {"name": "chat-0", "deletionTimestamp": "now"}}, "it is ending", False),
}


@pytest.mark.parametrize("name", PODS)
def test_a_pod_says_what_it_waits_for(name: str) -> None:
    one, said, final = PODS[name]
    (found,) = pending([], [one])
    assert found.where == "Pod/chat-0" and said in found.what and found.final is final


WORKLOADS: dict[str, tuple[dict[str, Any], str, bool]] = {
    "quota": (
        {
            "conditions": [
                {
                    "type": "ReplicaFailure",
                    "status": "True",
                    "message": 'pods "chat-1" is forbidden: exceeded quota: team, requested: memory=3Gi',
                }
            ]
        },
        "the namespace's quota team is used up",
        False,
    ),
    "security": (
        {
            "conditions": [
                {"type": "ReplicaFailure", "status": "True", "message": 'violates PodSecurity "restricted:latest": x'}
            ]
        },
        "the namespace's Pod Security level restricted:latest refuses the pod",
        True,
    ),
    "few": ({"readyReplicas": 0, "replicas": 1, "updatedReplicas": 1}, "0 of 1 pods are ready", False),
    "old": ({"readyReplicas": 1, "replicas": 2, "updatedReplicas": 1}, "1 of 1 pods are ready", False),
}


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_workload_says_what_it_waits_for(name: str) -> None:
    status, said, final = WORKLOADS[name]
    one = {"kind": "Deployment", "metadata": {"name": "chat"}, "spec": {"replicas": 1}, "status": status}
    found = pending([one], [])
    assert [each for each in found if said in each.what and each.final is final], found


def test_a_workload_whose_new_generation_was_not_seen_is_not_ready() -> None:
    status = {"readyReplicas": 1, "replicas": 1, "updatedReplicas": 1, "observedGeneration": 1}
    one = {
        "kind": "Deployment",
        "metadata": {"name": "chat", "generation": 2},
        "spec": {"replicas": 1},
        "status": status,
    }
    assert pending([one], []) and not pending([{**one, "metadata": {"name": "chat", "generation": 1}}], [])


def test_a_job_is_awaited_and_one_that_failed_is_final() -> None:
    job: dict[str, Any] = {"kind": "Job", "metadata": {"name": "download-a"}, "status": {}}
    assert [one.final for one in pending([job], [])] == [False]
    condition = {"type": "Failed", "status": "True", "message": "BackoffLimitExceeded"}
    found = pending([{**job, "status": {"conditions": [condition]}}], [])
    assert found[0].final and "BackoffLimitExceeded" in found[0].what
    assert pending([{**job, "status": {"succeeded": 1}}], []) == []


def test_a_volume_that_waits_has_its_last_event() -> None:
    claim = {"metadata": {"name": "models", "uid": "u"}, "status": {"phase": "Pending"}}
    event = {"involvedObject": {"uid": "u"}, "message": "no persistent volumes available for this claim"}
    (found,) = pending([], [], [claim], [event])
    assert (
        str(found)
        == "PersistentVolumeClaim/models: the volume is Pending: no persistent volumes available for this claim"
    )
    assert pending([], [], [{**claim, "status": {"phase": "Bound"}}]) == []
