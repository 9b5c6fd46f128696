"""Plan -> the files of `kubernetes/`: small ones by kind, and kustomization.yaml, which names them, says how they are
applied and has the bill. The templates print; they decide nothing."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from kit.errors import KitError
from kit.kubernetes import network, storage, workloads
from kit.kubernetes.layout import ClusterLayout, ClusterObject, lay_out
from kit.kubernetes.names import PROJECT, Keys, dns_label, secret_of
from kit.kubernetes.target_rules import refuse
from kit.kubernetes.volumes import Upload, uploads, weight_bytes
from kit.memory.bill import Plan
from kit.project.load import Project, card_for_plan, located, planned_for
from kit.project.write import FROM, digest_of
from kit.stack.comments import header
from kit.stack.model import File, Secret
from kit.stack.render import Rendered, checksum, fill

FOLDER = "kubernetes"
# Run in an upload's Job, it takes an archive and makes the mark.
RECEIVE = ("sh", "-c", 'tar -x -C "$FOLDER" && touch "$MARK"')
FILE = "kustomization.yaml"
_PRINTED = "Printed by `monogpu-kit render --target kubernetes`; kustomization.yaml says how it is used."


def printed_kubernetes(project: Project, gpu: str | None, environ: Mapping[str, str]) -> Rendered:
    """A project's files, planned for the card that `gpu` names. Raises KitError at the manifest's lines."""
    plan = planned_for(project, card_for_plan(project, gpu, environ))
    try:
        return render_kubernetes(plan, (f"{FROM}{digest_of(project)}",))
    except KitError as error:
        raise located(error, project.document) from None


def render_kubernetes(plan: Plan, origin: Sequence[str] = ()) -> Rendered:
    """The files, kustomization.yaml as the one with the checksum. `origin` lines say what it was printed from. Raises
    ManifestError for what this target refuses."""
    refuse(plan.manifest, weight_bytes(plan))
    layout = lay_out(plan)
    kinds = {name: objects for name, objects in objects_of(layout).items() if objects}
    files = tuple(File(name, fill("kubernetes.yaml.j2", header=(_PRINTED,), objects=o)) for name, o in kinds.items())
    keys: Keys = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": list(kinds),
    }
    body = fill(
        "kustomization.yaml.j2",
        header=(*header(plan, how(layout), reached(layout)), *_limits(layout), "", *origin),
        beside=[(file.path, checksum(file.text)) for file in files],
        keys=keys,
    )
    return Rendered(f"# monogpu-kit: {checksum(body)}\n{body}", files)


def objects_of(layout: ClusterLayout) -> dict[str, list[ClusterObject]]:
    """File -> its objects, in the order in which they are applied."""
    return {
        "namespace.yaml": [storage.namespace(layout)],
        "config.yaml": storage.configs(layout),
        "volumes.yaml": storage.volumes(layout),
        "card.yaml": storage.card(layout),
        "services.yaml": network.services(layout),
        "network-policies.yaml": network.policies(layout),
        "workers.yaml": workloads.workers(layout),
        "jobs.yaml": workloads.jobs(layout),
        "router.yaml": [*workloads.fronts(layout, "proxy"), *workloads.fronts(layout, "router")],
        "disruption-budgets.yaml": network.budgets(layout),
    }


def reached(layout: ClusterLayout) -> str:
    """How the endpoint is asked from this machine."""
    name, port = endpoint_of(layout)
    return f"  kubectl -n {layout.namespace} port-forward service/{name} {port}:{port}"


def endpoint_of(layout: ClusterLayout) -> tuple[str, int]:
    """(Service, port) of the endpoint: the last router in boot order is the one in front."""
    last = [one for one in layout.addresses if one.role == "router"][-1]
    return last.name, last.port


def how(layout: ClusterLayout) -> tuple[str, ...]:
    """What to type, in order."""
    namespace = layout.namespace
    project = f"{PROJECT}={dns_label(layout.project)}"
    apply = f"kubectl apply --server-side --field-manager=monogpu-kit -k {FOLDER}"
    return (
        "Printed by `monogpu-kit render --target kubernetes`. Change monogpu.yaml and render again: the first line",
        "is a checksum, and files that were edited by hand are not overwritten without --force.",
        "",
        f"  {apply}",
        *_secrets(layout),
        *(line for upload in uploads(layout, layout.stack.services) for line in _upload(upload, layout)),
        f"  kubectl -n {namespace} get pods -l {project}",
    )


def _secrets(layout: ClusterLayout) -> list[str]:
    """Keys and tokens are made by hand, from the environment: no file holds one."""
    found = {
        value.name: value.required
        for one in layout.stack.services
        for _, value in one.environment
        if isinstance(value, Secret)
    }
    parts = [f'--from-literal={name}="${name}"' for name in found]
    file = layout.plan.manifest.router.api_key_file
    parts += [f"--from-file=api-key={file}"] if file else []
    if not parts:
        return []
    must = any(found.values()) or file
    when = "the router waits for it" if must else "only where a repository is gated"
    create = f"kubectl -n {layout.namespace} create secret generic {secret_of(layout.project)}"
    return [f"  {create} \\", f"    {' '.join(parts)}    # {when}"]


def upload_jobs(upload: Upload, layout: ClusterLayout) -> list[str]:
    """The Jobs that wait for an upload: one for each volume of models."""
    names = (str(one.metadata["name"]) for one in workloads.jobs(layout))
    return [name for name in names if name.startswith(f"{upload.job}-")]


def _upload(upload: Upload, layout: ClusterLayout) -> list[str]:
    parent, _, name = upload.source.rstrip("/").rpartition("/")
    what = ("-C", parent or "/", "-ch", name) if upload.is_file else ("-C", upload.source, "-ch", ".")
    return [
        line
        for job in upload_jobs(upload, layout)
        for line in (
            f"  tar {shlex.join(what)} |",
            f"    kubectl -n {layout.namespace} exec -i job/{job} -- \\",
            f"    {shlex.join(RECEIVE)}",
        )
    ]


def _limits(layout: ClusterLayout) -> list[str]:
    """What is to be known of the shape and of the volume that were chosen."""
    said = [""]
    if layout.shape == "deployment-per-model":
        said.append("A Deployment for each model, all of one card: a crash or a change touches one model.")
    else:
        said.append("A pod with all workers of a card, started in turn; each copy has a card of its own.")
    if layout.gpu == "device-plugin":
        said += [
            "nvidia.com/gpu: 1 for each worker is a time slice: it is right on nodes with one card, or where the",
            "device plugin's slices are `packed` and nothing else runs there. Its default puts neighbours on",
            "different cards. Nothing but each worker's own number of bytes keeps it to its share.",
        ]
    if layout.settings.access_mode == "ReadWriteMany":
        said.append("The models' volume is mounted by all nodes.")
    elif not layout.shared_cache:
        said += [
            "Each card has a volume of models of its own, which jobs of its own fill: they follow the card's pod to",
            "its node, since it needs the card. StorageClasses with WaitForFirstConsumer need that.",
        ]
    else:
        said += [
            "The models' volume is mounted by one node: the workers' pod chooses it, since it needs the card, and jobs",
            "follow it there. StorageClasses with WaitForFirstConsumer need that.",
        ]
    return said
