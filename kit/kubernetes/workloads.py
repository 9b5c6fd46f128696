"""The workloads: Deployments, the StatefulSet of cards, and Jobs that bring files.

No workload is updated by Kubernetes' default: with every card taken, the pod that would come before another goes stays
Pending. A worker's Deployment is Recreate; the StatefulSet replaces its pods one at a time; routers and proxies, which
need no card, come before they go.
"""

from __future__ import annotations

from kit.kubernetes.containers import LOCKED, container, dollars, image_of, pod_annotations
from kit.kubernetes.layout import ClusterLayout, ClusterObject, named
from kit.kubernetes.names import CACHE, CARD, COMPONENT, POD_NAME, PROJECT, Keys, dns_label, labels, pods_of, role_of
from kit.kubernetes.pods import (
    awaited_jobs,
    beside_workers,
    files_annotation,
    mark_of,
    merged,
    pod,
    spread,
    template,
    templates,
    wait,
    worker_pod,
)
from kit.kubernetes.volumes import (
    CACHE_PATH,
    DONE,
    Upload,
    cache_mount,
    claim_volume,
    claims,
    quantity,
    uploads,
    volumes_of,
)
from kit.stack.model import Service
from kit.stack.render import checksum
from kit.stack.yaml_lines import Flow, Node
from kit.units import MIB

UNREAD_SECONDS = 5  # after which no Service sends new requests to a pod that ends
_BOUND = 48  # of a Job's name, before its checksum and its card's number
# Ends when whoever uploads has made the mark: kustomization.yaml has the command.
_RECEIVE = """\
mkdir -p /cache/.complete "$FOLDER"
until [ -e "$MARK" ]; do
  echo "waiting for an upload to $FOLDER"
  sleep 2
done
"""


def workers(layout: ClusterLayout) -> list[ClusterObject]:
    """A Deployment for each worker, or the StatefulSet of all."""
    if layout.shape == "pod-per-card":
        return [_set(layout)]
    return [_worker(one, layout) for one in layout.workers]


def _worker(worker: Service, layout: ClusterLayout) -> ClusterObject:
    selector = pods_of(layout.project, worker.name)
    said = pod_annotations([worker]) | files_annotation(worker, layout)
    made = template(layout, labels(layout.project, worker.name, "worker"), said, worker_pod([worker], layout))
    spec: Keys = {
        "replicas": 1,
        "strategy": Flow({"type": "Recreate"}),
        "selector": {"matchLabels": selector},
        "template": made,
    }
    return named("apps/v1", "Deployment", worker.name, layout, "worker", {"spec": spec}, worker.comment)


def _set(layout: ClusterLayout) -> ClusterObject:
    selector = pods_of(layout.project, CARD)
    said = pod_annotations(layout.workers)
    for worker in layout.workers:
        said |= files_annotation(worker, layout)
    pods = worker_pod(layout.workers, layout)
    if layout.settings.copies > 1:
        pods = {"topologySpreadConstraints": spread(selector), **pods}
    kinds = claims(layout)
    own: Node = [
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": Flow({"name": name}), "spec": kinds[name]}
        for name in templates(layout)
        if name in kinds
    ]
    replicas: Keys = {} if layout.settings.autoscaler else {"replicas": layout.settings.copies}
    spec: Keys = {
        **replicas,
        "serviceName": CARD,
        "podManagementPolicy": "Parallel",
        "updateStrategy": Flow({"type": "RollingUpdate"}),
        "selector": {"matchLabels": selector},
        "template": template(layout, labels(layout.project, CARD, "worker"), said, pods),
        **({"volumeClaimTemplates": own} if own else {}),
    }
    bill = tuple(line for worker in layout.workers for line in worker.comment)
    return named("apps/v1", "StatefulSet", CARD, layout, "worker", {"spec": spec}, bill)


def fronts(layout: ClusterLayout, role: str) -> list[ClusterObject]:
    """The router's Deployments, or the proxies': as many pods as one may be missing of."""
    return [_front(one, layout) for one in layout.of_role(role)]


def front_replicas(layout: ClusterLayout) -> int:
    return 2 if layout.settings.copies > 1 else 1


def _front(service: Service, layout: ClusterLayout) -> ClusterObject:
    role, selector = role_of(service), pods_of(layout.project, service.name)
    keys, mounted = container(service, layout)
    keys["lifecycle"] = {"preStop": {"sleep": Flow({"seconds": UNREAD_SECONDS})}}
    replicas = front_replicas(layout)
    more: Keys = {"topologySpreadConstraints": spread(selector)} if replicas > 1 else {}
    spec = pod(layout, {"containers": [keys]}, merged([mounted]), service.stop_grace + UNREAD_SECONDS, more)
    made = template(layout, labels(layout.project, service.name, role), files_annotation(service, layout), spec)
    body: Keys = {
        "replicas": replicas,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": Flow({"maxSurge": 1, "maxUnavailable": 0})},
        "selector": {"matchLabels": selector},
        "template": made,
    }
    return named("apps/v1", "Deployment", service.name, layout, role, {"spec": body}, service.comment)


def jobs(layout: ClusterLayout) -> list[ClusterObject]:
    """Downloads and uploads, once for each volume that holds models."""
    indices = (None,) if layout.shared_cache else layout.indices
    needed = uploads(layout, (*layout.workers, *layout.of_role("download")))
    found = [_upload(one, layout, index) for one in needed for index in indices]
    return found + [_download(one, layout, index) for one in layout.of_role("download") for index in indices]


def _download(service: Service, layout: ClusterLayout, index: int | None) -> ClusterObject:
    keys, _ = container(service, layout)
    mounted = volumes_of(service, layout, index)
    awaited = awaited_jobs([service], layout)
    first = [wait(awaited, service.image, layout)] if awaited else []
    mark: Keys = {
        "name": "mark",
        "image": image_of(service.image, layout),
        "imagePullPolicy": "IfNotPresent",
        "command": ["/bin/sh", "-c", f'mkdir -p {DONE} && touch "{DONE}/$0"'],
        "args": Flow([mark_of(service)]),
        "resources": {"requests": Flow({"cpu": "10m", "memory": quantity(16 * MIB)})},
        "securityContext": LOCKED,
        "volumeMounts": [Flow({"name": CACHE, **cache_mount(read_only=False)})],
    }
    volumes = merged([mounted]) | {CACHE: claim_volume(CACHE, layout, index)}
    containers: Keys = {"initContainers": [*first, keys], "containers": [mark]}
    return _job(mark_of(service), service.comment, layout, index, containers, volumes)


def _upload(upload: Upload, layout: ClusterLayout, index: int | None) -> ClusterObject:
    image = layout.workers[0].image
    receive: Keys = {
        "name": "upload",
        "image": image_of(image, layout),
        "imagePullPolicy": "IfNotPresent",
        "command": ["/bin/sh", "-c", dollars(_RECEIVE)],
        "env": [
            Flow({"name": "FOLDER", "value": f"{CACHE_PATH}/folders/{upload.folder}"}),
            Flow({"name": "MARK", "value": f"{DONE}/{upload.job}"}),
        ],
        "resources": {"requests": Flow({"cpu": "10m", "memory": quantity(64 * MIB)})},
        "securityContext": LOCKED,
        "volumeMounts": [Flow({"name": CACHE, **cache_mount(read_only=False)})],
    }
    volumes: Keys = {CACHE: claim_volume(CACHE, layout, index)}
    comment = (f"Waits for {upload.source} of your machine; `kubernetes/kustomization.yaml` has the command.",)
    return _job(upload.job, comment, layout, index, {"containers": [receive]}, volumes)


def _job(
    name: str, comment: tuple[str, ...], layout: ClusterLayout, index: int | None, containers: Keys, volumes: Keys
) -> ClusterObject:
    """A Job whose name changes with its pod, which cannot be changed. It runs where the workers' volume is."""
    more: Keys = {"restartPolicy": "OnFailure", "affinity": _near(layout, index)}
    spec = pod(layout, containers, volumes, 10, {key: value for key, value in more.items() if value})
    digest = checksum(repr(spec))[:8]
    at = "" if index is None else f"-{index}"
    full = f"{name[:_BOUND].rstrip('-')}-{digest}{at}"
    body: Keys = {
        "backoffLimit": 6,
        "template": template(layout, labels(layout.project, name[:63].rstrip("-"), "download"), {}, spec),
    }
    return named("batch/v1", "Job", full, layout, "download", {"spec": body}, comment)


def _near(layout: ClusterLayout, index: int | None) -> Node:
    """Where the volume is mounted by one node alone, the workers' pod chooses it: it needs the card too."""
    if layout.shape == "deployment-per-model":
        return beside_workers(layout.project)
    if layout.shared_cache:
        return None
    selector: Keys = {PROJECT: dns_label(layout.project), COMPONENT: "worker", POD_NAME: f"{CARD}-{index}"}
    term: Keys = {"labelSelector": {"matchLabels": selector}, "topologyKey": "kubernetes.io/hostname"}
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
