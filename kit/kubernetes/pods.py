"""Pods: what all of a stack's have equal, and the wait of a worker for its files.

A worker's first container waits until the files that its jobs bring are there. It holds the card meanwhile, which is
the stack's anyway, and the pod's node is known from then on: a job with a volume of one node follows it there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kit.kubernetes.containers import LOCKED, container, dollars, image_of
from kit.kubernetes.layout import ClusterLayout
from kit.kubernetes.names import CACHE, CARD, COMPONENT, HOST, PROJECT, USER, Keys, dns_label, role_of
from kit.kubernetes.volumes import MountedVolumes, cache_mount, claim_volume, quantity, uploads
from kit.stack.labels import FILES
from kit.stack.model import Service
from kit.stack.render import checksum
from kit.stack.yaml_lines import Flow, Node
from kit.units import MIB

_WAIT = """\
for job; do
  until [ -e "/cache/.complete/$job" ]; do
    echo "waiting for the files of job $job"
    sleep 5
  done
done
"""


def pod(layout: ClusterLayout, containers: Keys, volumes: Keys, grace: int, more: Keys) -> Keys:
    """A pod's spec. `containers` has initContainers and containers."""
    settings = layout.settings
    keys: Keys = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": grace,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER,
            "runAsGroup": USER,
            "fsGroup": USER,
            "fsGroupChangePolicy": "OnRootMismatch",
            "seccompProfile": Flow({"type": "RuntimeDefault"}),
        },
        "imagePullSecrets": [Flow({"name": name}) for name in settings.image_pull_secrets],
        "nodeSelector": dict(settings.node_selector),
        "tolerations": [Flow(_toleration(one.model_dump(exclude_none=True))) for one in settings.tolerations],
        **more,
        **containers,
        "volumes": [{"name": name, **_keys(volume)} for name, volume in volumes.items()],
    }
    return {key: value for key, value in keys.items() if value not in ([], {})}


def _toleration(said: dict[str, str | int]) -> Keys:
    return {"tolerationSeconds" if key == "toleration_seconds" else key: value for key, value in said.items()}


def _keys(volume: Node) -> Keys:
    return volume if isinstance(volume, dict) else {}


def worker_pod(workers: Sequence[Service], layout: ClusterLayout) -> Keys:
    """A pod of one worker, or of all workers of a card: all but the last as native sidecars, which start in turn and
    restart alone."""
    made = [container(worker, layout) for worker in workers]
    awaited = awaited_jobs(workers, layout)
    waiting = [wait(awaited, workers[0].image, layout)] if awaited else []
    sidecars = [{**keys, "restartPolicy": "Always"} for keys, _ in made[:-1]]
    volumes = merged(mounted for _, mounted in made)
    in_set = layout.shape == "pod-per-card"
    if awaited:
        volumes |= {CACHE: claim_volume(CACHE, layout, None)}
    if in_set:
        volumes = {name: volume for name, volume in volumes.items() if name not in templates(layout)}
    more: Keys = {"resourceClaims": [Flow(card_claim(layout))]} if layout.gpu == "dra" else {}
    if not in_set:
        more["affinity"] = beside_workers(layout.project)
    grace = max(worker.stop_grace for worker in workers)
    return pod(layout, {"initContainers": [*waiting, *sidecars], "containers": [made[-1][0]]}, volumes, grace, more)


def card_claim(layout: ClusterLayout) -> Keys:
    """The shared claim of the one card; or of each pod its own."""
    kind = "resourceClaimName" if layout.shape == "deployment-per-model" else "resourceClaimTemplateName"
    return {"name": CARD, kind: CARD}


def templates(layout: ClusterLayout) -> tuple[str, ...]:
    """The volumes that a StatefulSet claims for each of its pods."""
    if layout.shape == "deployment-per-model":
        return ()
    return ("compiled",) if layout.shared_cache else (CACHE, "compiled")


def beside_workers(project: str) -> Keys:
    """One card is in one node, and so is a volume that one node mounts."""
    selector: Keys = {"matchLabels": {PROJECT: dns_label(project), COMPONENT: "worker"}}
    term: Keys = {"labelSelector": selector, "topologyKey": HOST}
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def spread(selector: Keys) -> Node:
    """Copies on different nodes where there are several."""
    return [
        {
            "maxSkew": 1,
            "topologyKey": HOST,
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": selector},
        }
    ]


def merged(mounted: Iterable[MountedVolumes]) -> Keys:
    """The volumes of a pod's containers, once each."""
    return {name: volume for one in mounted for name, volume in one.volumes.items()}


def awaited_jobs(services: Iterable[Service], layout: ClusterLayout) -> tuple[str, ...]:
    """The marks of downloads and uploads whose files these services read."""
    services = tuple(services)
    needed = {name for one in services for name, until in one.depends_on if until == "service_completed_successfully"}
    downloads = tuple(mark_of(one) for one in layout.of_role("download") if one.name in needed)
    return (*downloads, *(upload.job for upload in uploads(layout, services)))


def mark_of(download: Service) -> str:
    """The file that says that a download is complete: another one for whatever else is downloaded."""
    content = repr((download.command, download.entrypoint, dict(download.labels).get(FILES)))
    return f"{download.name[:44].rstrip('-')}-{checksum(content)[:8]}"


def wait(marks: Sequence[str], image: str, layout: ClusterLayout) -> Keys:
    """The container that waits until the files of jobs are there."""
    return {
        "name": "wait-for-files",
        "image": image_of(image, layout),
        "imagePullPolicy": "IfNotPresent",
        "command": ["/bin/sh", "-c", dollars(_WAIT), "wait"],
        "args": Flow(list(marks)),
        "resources": {"requests": Flow({"cpu": "10m", "memory": quantity(16 * MIB)})},
        "securityContext": LOCKED,
        "volumeMounts": [Flow({"name": CACHE, **cache_mount(read_only=True)})],
    }


def template(layout: ClusterLayout, labels: Keys, annotations: Keys, spec: Keys) -> Keys:
    """A pod template."""
    said: Keys = {"annotations": annotations} if annotations else {}
    return {"metadata": {"labels": labels, **said}, "spec": spec}


def files_annotation(service: Service, layout: ClusterLayout) -> Keys:
    """The checksum of files that are read at the start alone. Not of the router's list: that is read again."""
    own = dict(service.labels).get(FILES)
    if own is None and role_of(service) == "router":
        own = checksum("".join(f.text for f in layout.stack.files if f.path.endswith(("launch.py", "launch.sh"))))
    return {FILES: own} if own else {}
