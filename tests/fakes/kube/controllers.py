"""Deployments, StatefulSets and Jobs become pods, and pods become ready: what controllers, scheduler and kubelet do, in
a thread that goes round every few milliseconds."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.kube.store import Key, Object, Store

TICK = 0.02


@dataclass
class Kubelet:
    """`marks` are the files in the models' volumes; `memory` is what the one node has for requests; `slow` seconds pass
    before a container is ready; `trouble` maps a container's name to the reason it waits for ever."""

    store: Store
    memory: int = 64 * 2**30
    slow: float = 0.05
    trouble: dict[str, str] = field(default_factory=dict)
    marks: set[tuple[str, str]] = field(default_factory=set)  # (claim, mark)
    began: dict[tuple[Key, str], float] = field(default_factory=dict)
    restarts: dict[tuple[Key, str], int] = field(default_factory=dict)

    def tick(self) -> None:
        """One round."""
        with self.store.lock:
            for key, one in list(self.store.objects.items()):
                if key[0] in ("deployments", "statefulsets", "jobs"):
                    self._pods_of(key, one)
            for key, one in list(self.store.objects.items()):
                if key[0] == "pods":
                    self._run(key, one)
            for key, one in list(self.store.objects.items()):
                if key[0] in ("deployments", "statefulsets", "jobs"):
                    self._count(key, one)

    def crash(self, key: Key, container: str) -> None:
        """A container ends and starts again."""
        with self.store.lock:
            at = (key, container)
            self.restarts[at] = self.restarts.get(at, 0) + 1
            self.began[at] = time.monotonic()

    def _pods_of(self, key: Key, owner: Object) -> None:
        plural, namespace, name = key
        template = owner["spec"]["template"]
        wanted = 1 if plural == "jobs" else owner["spec"].get("replicas", 1)
        revision = repr(template)
        mine = self._owned(owner)
        for pod_key, pod in mine:
            if pod["metadata"]["annotations"]["revision"] != revision:
                self.store.delete(pod_key)
        mine = self._owned(owner)
        names = [f"{name}-{n}" if plural == "statefulsets" else f"{name}-{n}-x" for n in range(wanted)]
        for pod_key, _ in mine:
            if pod_key[2] not in names:
                self.store.delete(pod_key)
        for ordinal, pod_name in enumerate(names):
            if ("pods", namespace, pod_name) not in self.store.objects:
                self._make(owner, plural, namespace, pod_name, ordinal, revision)

    def _owned(self, owner: Object) -> list[tuple[Key, Object]]:
        return [
            (key, one)
            for key, one in self.store.objects.items()
            if key[0] == "pods" and one["metadata"]["ownerReferences"][0]["uid"] == owner["metadata"]["uid"]
        ]

    def _make(self, owner: Object, plural: str, namespace: str, name: str, ordinal: int, revision: str) -> None:
        template = owner["spec"]["template"]
        labels = dict(template["metadata"].get("labels") or {})
        if plural == "statefulsets":
            labels["statefulset.kubernetes.io/pod-name"] = name
            for one in owner["spec"].get("volumeClaimTemplates") or []:
                claim = f"{one['metadata']['name']}-{name}"
                self._bind(namespace, claim)
        if plural == "jobs":
            labels["job-name"] = owner["metadata"]["name"]
        reference = {"kind": owner["kind"], "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}
        annotations = {**(template["metadata"].get("annotations") or {}), "revision": revision}
        meta = {"name": name, "namespace": namespace, "labels": labels, "annotations": annotations}
        pod = {
            "kind": "Pod",
            "metadata": {**meta, "ownerReferences": [reference]},
            "spec": template["spec"],
            "status": {},
        }
        pod["spec"] = {**template["spec"], "ordinal": ordinal}
        self.store.put(("pods", namespace, name), pod)

    def _bind(self, namespace: str, claim: str) -> None:
        key = ("persistentvolumeclaims", namespace, claim)
        if key not in self.store.objects:
            self.store.put(key, {"metadata": {"name": claim, "namespace": namespace}, "spec": {}, "status": {}})

    def _run(self, key: Key, pod: Object) -> None:
        if self.trouble.get("scheduler"):
            condition = {"type": "PodScheduled", "status": "False", "message": self.trouble["scheduler"]}
            self._say(key, pod, {"phase": "Pending", "conditions": [condition]})
            return
        inits = pod["spec"].get("initContainers") or []
        statuses = []
        for one in inits:
            done = self._ended(key, pod, one)
            statuses.append(self._status(key, one, True if done is None else done))
            if done is False:
                self._say(key, pod, {"phase": "Pending", "initContainerStatuses": statuses})
                return
            if done is None and not statuses[-1]["ready"]:
                self._say(key, pod, {"phase": "Pending", "initContainerStatuses": statuses})
                return
        last = [self._status(key, one, True) for one in pod["spec"]["containers"]]
        if pod["metadata"]["ownerReferences"][0]["kind"] == "Job" and self._job_ends(pod):
            self._say(key, pod, {"phase": "Succeeded", "initContainerStatuses": statuses, "containerStatuses": last})
            return
        ready = all(
            one["ready"]
            for one in (*[s for s, c in zip(statuses, inits, strict=True) if c.get("restartPolicy")], *last)
        )
        conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
        status = {"phase": "Running", "conditions": conditions}
        self._say(key, pod, {**status, "initContainerStatuses": statuses, "containerStatuses": last})

    def _ended(self, key: Key, pod: Object, one: Mapping[str, Any]) -> bool | None:
        """Whether an init container has ended; None for a sidecar, which does not."""
        if one.get("restartPolicy") == "Always":
            return None
        if one["name"] != "wait-for-files":
            return True
        return all((self._claim(key, pod), mark) in self.marks for mark in one.get("args") or [])

    def _claim(self, key: Key, pod: Object) -> str:
        """The claim of the models' volume."""
        for volume in pod["spec"].get("volumes") or []:
            if volume["name"] == "models":
                return str(volume["persistentVolumeClaim"]["claimName"])
        return f"models-{key[2]}"

    def _job_ends(self, pod: Object) -> bool:
        """A download makes its mark at once; an upload is over when its mark is there."""
        claim = self._claim(("pods", "", ""), pod)
        for one in pod["spec"]["containers"]:
            if one["name"] == "mark":
                self.marks |= {(claim, arg) for arg in one["args"]}
                return True
            mark = next((v["value"].rpartition("/")[2] for v in one.get("env") or [] if v["name"] == "MARK"), "")
            return (claim, mark) in self.marks
        return False

    def _status(self, key: Key, one: Mapping[str, Any], runs: bool) -> Object:
        at = (key, one["name"])
        restarts = self.restarts.get(at, 0)
        found: Object = {"name": one["name"], "restartCount": restarts, "ready": False}
        if reason := self.trouble.get(one["name"]):
            if reason == "CrashLoopBackOff":
                self.restarts[at] = restarts + 1
                found["lastState"] = {"terminated": {"exitCode": 1, "reason": "Error"}}
            return found | {"state": {"waiting": {"reason": reason, "message": f"{reason} of {one['image']}"}}}
        if not runs:
            return found | {"state": {"running": {}}}
        since = self.began.setdefault(at, time.monotonic())
        return found | {"state": {"running": {}}, "ready": time.monotonic() - since >= self.slow}

    def _say(self, key: Key, pod: Object, status: Object) -> None:
        if pod["status"] != status:
            pod["status"] = status
            self.store.touch(key, "MODIFIED")

    def _count(self, key: Key, owner: Object) -> None:
        pods = [pod for _, pod in self._owned(owner)]
        ready = sum(
            any(c["type"] == "Ready" and c["status"] == "True" for c in pod["status"].get("conditions") or [])
            for pod in pods
        )
        generation = owner["metadata"].get("generation", 1)
        status: Object = {"observedGeneration": generation, "replicas": len(pods)}
        status |= {"readyReplicas": ready, "updatedReplicas": len(pods)}
        if key[0] == "jobs":
            status = {"succeeded": sum(pod["status"].get("phase") == "Succeeded" for pod in pods)}
        if owner.get("status") != status:
            owner["status"] = status
            self.store.touch(key, "MODIFIED")
