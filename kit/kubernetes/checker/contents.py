"""What objects and containers are given: labels, users, mounts, variables and the arguments that the plan owns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from kit.kubernetes.checker.world import COMPONENT, Object, PodView, Rule, World, containers, in_bytes

Found = Iterator[tuple[str, str]]

_NAME, _PROJECT, _MANAGER = (f"app.kubernetes.io/{key}" for key in ("name", "part-of", "managed-by"))
_COMPONENTS = {"worker", "router", "proxy", "download", "namespace", "policy", "storage", "config"}
_FOLDERS = {"HF_HOME": "/cache", "OLLAMA_MODELS": "/cache", "VLLM_CACHE_ROOT": "", "TRITON_CACHE_DIR": "/compiled"}
_TRITON = 1000
_CPU = re.compile(r"[1-9]\d*m|[1-9]\d*(\.\d+)?|0\.\d*[1-9]\d*")


def _labels(world: World) -> Found:
    """What `kubectl get -l` and a removal by label find."""
    projects = {(one["metadata"].get("labels") or {}).get(_PROJECT) for one in world.objects}
    if len(projects) != 1:
        yield "objects", f"they are parts of {sorted(map(str, projects))}"
    for one in world.objects:
        where, labels = f"{one['kind']}/{one['metadata']['name']}", one["metadata"].get("labels") or {}
        yield from ((where, what) for what in _wrong(labels))
        if labels.get(_NAME) != one["metadata"]["name"]:
            yield where, f"its label {_NAME} is {labels.get(_NAME)!r}"
    for pod in world.pods:
        yield from ((pod.where, f"its pods: {what}") for what in _wrong(pod.labels))
        if pod.labels.get(_PROJECT) not in projects or not pod.labels.get(_NAME):
            yield pod.where, "its pods are parts of something else"
    for kind in ("ResourceClaimTemplate",):
        for name, one in world.of(kind).items():
            if ((one["spec"].get("metadata") or {}).get("labels") or {}).get(_PROJECT) not in projects:
                yield f"{kind}/{name}", "its claims are parts of something else"


def _wrong(labels: Object) -> Iterator[str]:
    if labels.get(_MANAGER) != "monogpu-kit":
        yield f"the label {_MANAGER} is {labels.get(_MANAGER)!r}"
    if labels.get(COMPONENT) not in _COMPONENTS:
        yield f"the label {COMPONENT} is {labels.get(COMPONENT)!r}"


def _users(world: World) -> Found:
    for pod in world.pods:
        said = pod.spec.get("securityContext") or {}
        if len({said.get("runAsUser"), said.get("runAsGroup"), said.get("fsGroup")}) != 1:
            yield pod.where, "its user, its group and the group of its volumes differ: it could not write them"
        if said.get("fsGroupChangePolicy") not in ("OnRootMismatch", "Always"):
            yield pod.where, f"fsGroupChangePolicy is {said.get('fsGroupChangePolicy')!r}"
        for one in pod.every:
            own = (one.get("securityContext") or {}).get("runAsUser")
            if "tritonserver" in (one.get("args") or []) and own != _TRITON:
                yield pod.where, f"Triton's backends belong to the user {_TRITON}, and it runs as {own}"
    users = {(pod.spec.get("securityContext") or {}).get("runAsUser") for pod in world.pods}
    if len(users) > 1:
        yield "objects", f"pods run as {sorted(map(str, users))}: what one downloads the others could not read"


def _mounts(world: World) -> Found:
    for _, one, where in containers(world):
        paths = [str(mount.get("mountPath")) for mount in one.get("volumeMounts") or []]
        for path in paths:
            if not path.startswith("/") or path == "/":
                yield where, f"{path!r} is no path to mount at"
        programs = "wait-for-files", "mark", "upload"
        if one.get("name") not in programs and "/tmp" not in paths:
            yield where, "it has no /tmp of its own"
        if one.get("name") in programs and "/cache" not in paths:
            yield where, "it does not mount the models' volume"
        if "--max-model-len" in (one.get("args") or []) and "/dev/shm" not in paths:
            yield where, "it has no /dev/shm of its own: 64 MiB are too few for an engine"
    for pod in world.pods:
        for name, volume in pod.volumes.items():
            limit = (volume.get("emptyDir") or {}).get("sizeLimit")
            if "emptyDir" in volume and (limit is None or in_bytes(limit) < 2**20):
                yield pod.where, f"the volume {name} has a sizeLimit of {limit}"


def _variables(world: World) -> Found:
    for pod, one, where in containers(world):
        paths = [str(mount.get("mountPath")) for mount in one.get("volumeMounts") or []]
        values = {variable.get("name"): variable for variable in one.get("env") or []}
        for name, root in _FOLDERS.items():
            value = str((values.get(name) or {}).get("value", ""))
            own = pod.kind != "Job" and str((one.get("args") or [""])[0]).startswith("/")
            if name not in values or (name == "HF_HOME" and own):
                continue
            if not value.startswith(f"{root}/") or not any(value.startswith(f"{path}/") for path in paths):
                yield where, f"{name} is {value!r}, which is in no volume of it"
        for name, variable in values.items():
            reference = (variable.get("valueFrom") or {}).get("secretKeyRef")
            if reference is None and "value" not in variable:
                yield where, f"the variable {name} has no value"
            if reference is not None and reference.get("name") != f"{pod.labels.get(_PROJECT)}-keys":
                yield where, f"{name} is in the Secret {reference.get('name')}"
            if reference is not None and name != reference.get("key") and name != "MONOGPU_API_KEY":
                yield where, f"{name} is {reference.get('key')!r} in the Secret"
            if name == "HF_TOKEN" and (pod.kind != "Job" or not (reference or {}).get("optional")):
                yield where, "the Hub's token is for downloads alone, which start without it"
        yield from ((where, what) for what in _offline(pod, one, values))


def _offline(pod: PodView, container: Object, values: Object) -> Iterator[str]:
    """What a vLLM worker needs where nothing outside is reached, and no user has an account."""
    if pod.component != "worker" or pod.kind == "Job" or "--max-model-len" not in (container.get("args") or []):
        return
    needed = {"HF_HUB_OFFLINE": "1", "VLLM_HOST_IP": "127.0.0.1", "HOME": "/tmp", "VLLM_NO_USAGE_STATS": "1"}
    for name, value in needed.items():
        if (values.get(name) or {}).get("value") != value:
            yield f"{name} is not {value}"


def _arguments(world: World) -> Found:
    """Of a vLLM worker: its name, where it listens, and its bytes."""
    for pod in world.serving:
        said = pod.annotations.get("monogpu.bytes", "")
        planned = dict(part.split("=") for part in said.split(",") if part)
        for one in pod.workers:
            args = [str(arg) for arg in one.get("args") or []]
            if "--max-model-len" in args:
                where = f"{pod.where}: container {one.get('name')}"
                yield from ((where, what) for what in _vllm(pod, args, int(planned.get(str(one.get("name")), 0))))
        names = pod.annotations.get("monogpu.served-names", "").split(",")
        models = pod.annotations.get("monogpu.model", "").split(",")
        if pod.component == "worker" and not set(models) <= set(names):
            yield pod.where, f"it serves {names}, and its models are {models}"
        tasks = pod.annotations.get("monogpu.task", "").split(",")
        known = {"generate", "embed", "rerank", "classify", "infer"}
        if pod.component == "worker" and (len(tasks) != len(models) or set(tasks) - known):
            yield pod.where, f"its models' tasks are {tasks}"
        for metric in pod.annotations.get("monogpu.metrics", "").split(","):
            port = metric.partition("/")[0]
            listening = {str(p["containerPort"]) for one in pod.running for p in one.get("ports") or []}
            if metric and port not in listening and not metric.startswith("8002/"):
                yield pod.where, f"its metrics are at {metric}, where nothing listens"


def _vllm(pod: PodView, args: list[str], planned: int) -> Iterator[str]:
    values = {flag: args[args.index(flag) + 1] for flag in args if flag.startswith("--") and flag != args[-1]}
    if values.get("--host") != "0.0.0.0":
        yield f"--host is {values.get('--host')}: no other pod reaches it"
    names = pod.annotations.get("monogpu.served-names", "").split(",")
    if values.get("--served-model-name") not in names:
        yield f"--served-model-name is {values.get('--served-model-name')!r}, and the pod serves {', '.join(names)}"
    cache = values.get("--kv-cache-memory-bytes")
    if cache is not None and not (cache.isdecimal() and 0 < int(cache) < planned):
        yield f"--kv-cache-memory-bytes is {cache}, of {planned} planned in all"
    share = values.get("--gpu-memory-utilization", "0.5")
    if not re.fullmatch(r"0\.\d+|1(\.0+)?", share) or float(share) <= 0:
        yield f"--gpu-memory-utilization is {share}"


def _nodes(world: World) -> Found:
    """Where pods may go: all of a stack to the same nodes, or jobs bring files to where no worker goes."""
    for key in ("nodeSelector", "tolerations", "imagePullSecrets"):
        said = [pod.spec.get(key) for pod in world.pods]
        if any(one != said[0] for one in said):
            yield "objects", f"{key} differs between pods"
    for pod in world.pods:
        for one in pod.spec.get("tolerations") or []:
            if one.get("effect") not in (None, "NoSchedule", "PreferNoSchedule", "NoExecute"):
                yield pod.where, f"it tolerates the effect {one.get('effect')}"
            if one.get("operator", "Equal") not in ("Equal", "Exists"):
                yield pod.where, f"it tolerates by {one.get('operator')}"


def _guard(world: World, pod: PodView, container: Object) -> Iterator[str]:
    """That what `--middleware` names is in a ConfigMap where Python finds it."""
    args = [str(arg) for arg in container.get("args") or []]
    for flag, value in pairwise(args):
        if flag != "--middleware":
            continue
        env = {variable.get("name"): variable.get("value", "") for variable in container.get("env") or []}
        found = [
            (world.of("ConfigMap").get(str((volume.get("configMap") or {}).get("name"))) or {}).get("data") or {}
            for mount in container.get("volumeMounts") or []
            if mount.get("mountPath") in str(env.get("PYTHONPATH")).split(":")
            for volume in [pod.volumes.get(mount["name"], {})]
        ]
        if not any(f"{value.partition('.')[0]}.py" in data for data in found):
            yield f"{value} is in no ConfigMap that Python finds"


def _amounts(world: World) -> Found:
    for _, one, where in containers(world):
        asked = (one.get("resources") or {}).get("requests") or {}
        if "cpu" in asked and not _CPU.fullmatch(str(asked["cpu"])):
            yield where, f"it requests {asked['cpu']!r} of a CPU"
    for pod, one, where in containers(world):
        if not one.get("command") and not one.get("args"):
            yield where, "it runs whatever its image runs"
        if (pod.kind == "Job" or pod.component in ("router", "proxy")) and not one.get("command"):
            yield where, "it has no command"
        alone = "--max-model-len" in (one.get("args") or []) or "tritonserver" in (one.get("args") or [])
        if pod.component == "worker" and not one.get("command") and not alone:
            yield where, "its arguments are for a program that it does not name"
        if pod.component in ("router", "worker") and not one.get("args"):
            yield where, "it has no arguments"
        yield from ((where, what) for what in _guard(world, pod, one))
        model = str((one.get("args") or [""])[0])
        paths = [str(mount.get("mountPath")) for mount in one.get("volumeMounts") or []]
        own = "--max-model-len" in (one.get("args") or []) and model.startswith("/")
        if own and not any(model == path or model.startswith(f"{path}/") for path in paths):
            yield where, f"its model {model} is in no volume of it"
        if pod.kind == "Job" and not one.get("args") and one.get("name") != "upload":
            yield where, "it has no arguments"
    for pod in world.pods:
        if not pod.containers:
            yield pod.where, "it has no containers"
        for one in pod.every:
            if one.get("name") == "wait-for-files" and not (one.get("args") and one.get("command")):
                yield pod.where, "it waits for nothing"
            if one.get("name") in ("upload", "mark") and not one.get("command"):
                yield pod.where, f"{one['name']} runs nothing"


RULES = (
    Rule("labels", "Everything has the labels by which the stack is found and removed.", _labels),
    Rule("users", "All pods run as one user, who can write the volumes.", _users),
    Rule("mounts", "Mounts are at paths, and each program has the folders that it needs.", _mounts),
    Rule("variables", "Caches are in volumes, workers are offline, the Hub's token is for downloads.", _variables),
    Rule("arguments", "vLLM's names, address and bytes are those of the plan.", _arguments),
    Rule("nodes", "All pods may go to the same nodes, and pull images with the same credentials.", _nodes),
    Rule("amounts", "CPU is asked in amounts, and what waits knows for what.", _amounts),
)
