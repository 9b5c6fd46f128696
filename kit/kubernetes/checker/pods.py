"""What a pod's containers must say about their start, their ports and their secrets."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from kit.kubernetes.checker.world import SIDECAR, Object, PodView, Rule, World, containers, in_bytes

Found = Iterator[tuple[str, str]]

_PROBES = ("startupProbe", "readinessProbe", "livenessProbe")
_HANDLERS = ("httpGet", "exec", "tcpSocket", "grpc")
_SECRET = re.compile(r"(API_KEY|TOKEN|PASSWORD|SECRET)$")
_TAGGED = re.compile(r".+(:(?!latest$)[\w][\w.-]*|@sha256:[0-9a-f]{64})")
_PATHS = ("/health", "/readiness", "/liveness", "/v2/health/live")
_LEAST_PATIENCE = 45  # seconds: an engine imports its libraries for longer, and compiles as long


def _ports_of(container: Object) -> list[int]:
    return [port["containerPort"] for port in container.get("ports") or []]


def _restart(world: World) -> Found:
    for pod in world.pods:
        said = pod.spec.get("restartPolicy")
        fine = ("OnFailure", "Never") if pod.kind == "Job" else (None, "Always")
        if said not in fine:
            yield pod.where, f"restartPolicy of the pod is {said}"
    for pod, one, where in containers(world):
        said = one.get("restartPolicy")
        if said is not None and (said != SIDECAR or one not in (pod.spec.get("initContainers") or [])):
            yield (
                where,
                f"restartPolicy is {said}: only Always of an init container is known",
            )


def _probes(world: World) -> Found:
    for pod in world.pods:
        for one in pod.inits:
            if any(key in one for key in _PROBES):
                yield f"{pod.where}: container {one.get('name')}", "an init container that ends has a probe"
    for pod in world.serving:
        for one in pod.running:
            where = f"{pod.where}: container {one.get('name')}"
            missing = [key for key in _PROBES if not one.get(key)]
            if missing:
                yield where, f"it has no {' and no '.join(missing)}"
            for key in ("startupProbe", "livenessProbe") if pod.component != "worker" else ():
                if "readiness" in str(one.get(key)) or "exec" in (one.get(key) or {}):
                    yield where, f"{key} asks about its workers: it would be killed while they start"
            for key in _PROBES:
                yield from ((where, f"{key}: {what}") for what in _probe(one, one.get(key)))
            for key in ("startupProbe", "livenessProbe"):
                if (seconds := _patience(one, key)) < _LEAST_PATIENCE:
                    yield where, f"{key} waits {seconds} s"


def _probe(container: Object, probe: Object | None) -> Iterator[str]:
    if probe is None:
        return
    handlers = [key for key in _HANDLERS if key in probe]
    if len(handlers) != 1:
        yield f"{len(handlers)} handlers"
    if "httpGet" in probe:
        asked = probe["httpGet"]
        if asked.get("port") not in _ports_of(container):
            yield f"port {asked.get('port')} is none of the container's"
        if asked.get("path") not in _PATHS:
            yield f"it asks {asked.get('path')!r}, which no engine and no router has"
    if "tcpSocket" in probe and probe["tcpSocket"].get("port") not in _ports_of(container):
        yield "it looks at a port that is none of the container's"
    if "exec" in probe and not probe["exec"].get("command"):
        yield "it runs nothing"
    for key in ("periodSeconds", "timeoutSeconds", *(("failureThreshold",) if "failureThreshold" in probe else ())):
        if not isinstance(probe.get(key), int) or probe[key] < 1:
            yield f"{key} is {probe.get(key)!r}"
    if probe.get("timeoutSeconds", 0) > probe.get("periodSeconds", 0):
        yield "it may take longer than its period"


def _patience(container: Object, key: str) -> int:
    """Seconds after which a probe that fails has the container ended."""
    probe = container.get(key) or {}
    return int(probe.get("periodSeconds", 10)) * int(probe.get("failureThreshold", 3))


def _ports(world: World) -> Found:
    for pod in world.pods:
        taken = Counter(port for one in pod.running for port in _ports_of(one))
        for port, times in taken.items():
            if times > 1:
                yield pod.where, f"{times} containers listen at {port}"
        for one in pod.workers:
            if not _ports_of(one):
                yield f"{pod.where}: container {one.get('name')}", "it names no port"
            args = [str(arg) for arg in one.get("args") or []]
            said = args[args.index("--port") + 1] if "--port" in args else None
            if said is not None and _ports_of(one) != [int(said)]:
                yield f"{pod.where}: container {one.get('name')}", f"--port {said} is not its containerPort"


def _secrets(world: World) -> Found:
    for _, one, where in containers(world):
        for variable in one.get("env") or []:
            if _SECRET.search(variable.get("name", "")) and "value" in variable:
                yield where, f"{variable['name']} has its value in the file"
            if "value" in variable and "valueFrom" in variable:
                yield where, f"{variable['name']} has two values"
            if not isinstance(variable.get("value", ""), str):
                yield where, f"the value of {variable['name']} is no text"
        names = Counter(variable.get("name") for variable in one.get("env") or [])
        for name, times in names.items():
            if times > 1:
                yield where, f"the variable {name} is there {times} times"


def _images(world: World) -> Found:
    for _, one, where in containers(world):
        if not _TAGGED.fullmatch(str(one.get("image", ""))):
            yield where, f"the image {one.get('image')} has no tag that stays"
        if one.get("imagePullPolicy") != "IfNotPresent":
            yield where, f"imagePullPolicy is {one.get('imagePullPolicy')}"


def _requests(world: World) -> Found:
    for _, one, where in containers(world):
        asked = (one.get("resources") or {}).get("requests") or {}
        for key in ("cpu", "memory"):
            if key not in asked:
                yield where, f"it requests no {key}"
        if "memory" in asked and in_bytes(asked["memory"]) < 2**20:
            yield where, f"it requests {asked['memory']} of memory"


def _names(world: World) -> Found:
    label = re.compile(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?")
    value = re.compile(r"([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?")
    for one in world.objects:
        name = str(one["metadata"]["name"])
        if not label.fullmatch(name):
            yield f"{one['kind']}/{name}", "its name is no label of a host name of at most 63 characters"
        for key, said in (one["metadata"].get("labels") or {}).items():
            if not isinstance(said, str) or not value.fullmatch(said):
                yield f"{one['kind']}/{name}", f"the label {key} is {said!r}"
    for pod in world.pods:
        names = Counter(one.get("name") for one in pod.every)
        for each, times in names.items():
            if times > 1 or not label.fullmatch(str(each)):
                yield pod.where, f"a container is called {each!r}, {times} times"


def _order(world: World) -> Found:
    """Of several workers in a pod all but the last are sidecars, so that each waits for the one before."""
    for pod in world.serving:
        if len(pod.containers) != 1:
            yield pod.where, f"{len(pod.containers)} containers start at once"
        kinds = [one.get("restartPolicy") == SIDECAR for one in pod.spec.get("initContainers") or []]
        if kinds != sorted(kinds):
            yield pod.where, "a sidecar starts before the files are there"
        if pod.component == "worker" and pod.annotations.get("monogpu.bytes"):
            planned = [part.partition("=")[0] for part in pod.annotations["monogpu.bytes"].split(",")]
            if planned != [one.get("name") for one in pod.running]:
                yield pod.where, f"its workers are not {', '.join(planned)}, in this order"


def _shm(world: World) -> Found:
    for pod in world.pods:
        users: Counter[str] = Counter()
        for one in pod.every:
            for mount in one.get("volumeMounts") or []:
                volume = pod.volumes.get(mount["name"], {})
                if mount["mountPath"] != "/dev/shm":
                    continue
                users[mount["name"]] += 1
                yield from _memory(pod, one, volume.get("emptyDir"))
        for name, times in users.items():
            if times > 1:
                yield pod.where, f"{times} containers share /dev/shm in {name}"


def _memory(pod: PodView, container: Object, folder: Object | None) -> Found:
    where = f"{pod.where}: container {container.get('name')}"
    if not folder or folder.get("medium") != "Memory" or "sizeLimit" not in folder:
        yield where, "/dev/shm is not in memory, or has no size"
        return
    limit = ((container.get("resources") or {}).get("limits") or {}).get("memory")
    if limit is not None and in_bytes(folder["sizeLimit"]) >= in_bytes(limit):
        yield where, f"/dev/shm of {folder['sizeLimit']} is not within its limit of {limit}"
    if in_bytes(folder["sizeLimit"]) < 2**26:
        yield where, f"/dev/shm of {folder['sizeLimit']} is what Docker gives, too small for an engine"


RULES = (
    Rule("restart", "Pods restart, jobs end, and only sidecars among init containers keep running.", _restart),
    Rule(
        "probes",
        "What serves has startup, readiness and liveness probes of its own, and no router dies of its workers.",
        _probes,
    ),
    Rule("ports", "No two containers of a pod listen at one port, and each listens where it says.", _ports),
    Rule("secrets", "No key or token has its value in a file.", _secrets),
    Rule("images", "Images have a tag or digest that stays, and are pulled once.", _images),
    Rule("requests", "Every container requests CPU and memory.", _requests),
    Rule("names", "Names, label values and containers' names are valid and at most 63 characters.", _names),
    Rule("order", "Workers of one pod start in the plan's order, after their files are there.", _order),
    Rule("shm", "Each worker's /dev/shm is its own, in memory, and within its memory limit.", _shm),
)
