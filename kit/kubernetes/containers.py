"""A service of the stack as a container: without root, with the probes that its patience asks for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from kit.kubernetes.layout import ClusterLayout
from kit.kubernetes.names import CARD, Keys, role_of, secret_of
from kit.kubernetes.volumes import CACHE_PATH, COMPILED_PATH, MountedVolumes, quantity, volumes_of
from kit.stack.labels import BYTES, METRICS, MODEL, SERVED_NAMES, TASK
from kit.stack.model import Health, Secret, Service, Value
from kit.stack.yaml_lines import Arguments, Flow, Node, is_flag
from kit.units import GIB, MIB

PERIOD = 5  # seconds between probes, as between Compose's health checks
HUNG = 12  # failed looks, 10 s apart, after which a process that is there but does not answer is started again
CPU = "200m"  # of a worker: a share for when cores are short; cores are not planned
TRITON_USER = 1000  # triton-server in NVIDIA's images, who owns the backends' files
# Host memory of a process whose model is on the card, a request and no limit: an 8B model's vLLM held 3.1 GB on an
# H200, small models hold less. The others: assumed.
_HOST_BYTES = {"vllm": 2 * GIB, "triton": GIB, "ollama": GIB}
_SMALL = {"router": 256 * MIB, "proxy": 128 * MIB, "download": 512 * MIB}
LOCKED: Keys = {
    "allowPrivilegeEscalation": False,
    "capabilities": Flow({"drop": ["ALL"]}),
}


def container(service: Service, layout: ClusterLayout) -> tuple[Keys, MountedVolumes]:
    """The container of a service, and what it mounts."""
    mounted = volumes_of(service, layout)
    keys: Keys = {
        "name": service.name,
        "image": image_of(service.image, layout),
        "imagePullPolicy": "IfNotPresent",
        "command": _texts(service.entrypoint or ()),
        "args": _texts(service.command),
        "env": environment(service, layout),
        "ports": [Flow(port) for port in _ports(service, layout)],
        **_probes(service, layout),
        "resources": resources(service, layout),
        "securityContext": security(service, layout),
        "volumeMounts": [Flow(mount) for mount in mounted.mounts],
    }
    return {key: value for key, value in keys.items() if value not in (None, [], {})}, mounted


def image_of(image: str, layout: ClusterLayout) -> str:
    """The image under the name by which the cluster pulls it."""
    return layout.settings.image_map.get(image, image)


def engine_of(service: Service, layout: ClusterLayout) -> str:
    """The engine of a worker."""
    named = {share.service: share.model.engine for share in layout.plan.shares}
    return named.get(service.name, "ollama")


def security(service: Service, layout: ClusterLayout) -> Keys:
    """What the Pod Security level `restricted` wants of a container; the rest is the pod's."""
    triton = role_of(service) == "worker" and engine_of(service, layout) == "triton"
    more: Keys = {"readOnlyRootFilesystem": True} if service.read_only else {}
    return LOCKED | more | ({"runAsUser": TRITON_USER} if triton else {})


def environment(service: Service, layout: ClusterLayout) -> list[Node]:
    """The variables; a secret one comes from the Secret, by the name that the manifest has."""
    values = dict(service.environment)
    given = {name for share in layout.plan.shares if share.service == service.name for name in share.model.env}
    values |= {name: value for name, value in _without_root(service, layout).items() if name not in given}
    return [_variable(name, value, layout) for name, value in values.items()]


def _variable(name: str, value: Value, layout: ClusterLayout) -> Node:
    if isinstance(value, str):
        return Flow({"name": name, "value": dollars(value)})
    reference: Keys = {"name": secret_of(layout.project), "key": value.name}
    optional: Keys = {} if value.required else {"optional": True}
    return {"name": name, "valueFrom": {"secretKeyRef": Flow(reference | optional)}}


def _without_root(service: Service, layout: ClusterLayout) -> dict[str, Value]:
    """Where programs keep what they keep below /root elsewhere."""
    role = role_of(service)
    engine = engine_of(service, layout) if role == "worker" else "ollama" if "ollama" in service.name else ""
    if engine == "ollama" and role != "proxy":
        return {"HOME": "/tmp", "OLLAMA_MODELS": f"{CACHE_PATH}/ollama"}
    if engine == "vllm" and layout.gpu != "none":
        own = f"{COMPILED_PATH}/{service.name}"
        caches = {"VLLM_CACHE_ROOT": f"{own}/vllm", "TRITON_CACHE_DIR": f"{own}/triton"}
        return {"HOME": "/tmp", "USER": "vllm", **caches, "FLASHINFER_WORKSPACE_BASE": own}
    return {}


def _ports(service: Service, layout: ClusterLayout) -> list[Keys]:
    """What is asked of a container: the API of a worker, and the endpoint."""
    if service.name in layout.ports:
        return [{"name": "http", "containerPort": layout.ports[service.name]}]
    targets = {a.target for a in layout.addresses if dict(a.selector).get("app.kubernetes.io/name") == service.name}
    return [{"name": "http", "containerPort": target} for target in sorted(targets)]


def _probes(service: Service, layout: ClusterLayout) -> Keys:
    """Startup: the plan's patience. Readiness: what Compose calls healthy. Liveness: what hangs is started again. That
    its workers are not there yet, or down, is no reason to end a router: it is asked only whether it listens."""
    health = service.health
    if health is None:
        return {}
    handler = alive = _handler(health)
    if role_of(service) != "worker":
        alive = _listens(service, health, layout)
    patience = -(-health.start_period // PERIOD) + health.retries
    return {
        "startupProbe": {**alive, "periodSeconds": PERIOD, "timeoutSeconds": 5, "failureThreshold": patience},
        "readinessProbe": {**handler, "periodSeconds": PERIOD, "timeoutSeconds": 5},
        "livenessProbe": {**alive, "periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": HUNG},
    }


def _listens(service: Service, health: Health, layout: ClusterLayout) -> Keys:
    if health.asks and layout.plan.manifest.router.engine == "smg":
        return _handler(replace(health, asks=(health.asks[0], "/liveness")))
    return {"tcpSocket": Flow({"port": _ports(service, layout)[0]["containerPort"]})}


def _handler(health: Health) -> Keys:
    if health.asks:
        port, path = health.asks
        return {"httpGet": Flow({"path": path, "port": port})}
    return {"exec": {"command": Flow(list(health.command))}}


def resources(service: Service, layout: ClusterLayout) -> Keys:
    """What a container asks of its node. On a card: the claim, or a slot of the device plugin, and host memory. On the
    CPU: the plan's bytes. No limit: what a worker reads through the page cache would count against it."""
    role = role_of(service)
    if role != "worker":
        return {"requests": Flow({"cpu": "100m", "memory": quantity(_SMALL[role])})}
    if layout.gpu == "none":
        planned = int(dict(service.labels)[BYTES])
        return {"requests": Flow({"cpu": CPU, "memory": quantity(planned)})}
    asked: Keys = {"requests": Flow({"cpu": CPU, "memory": quantity(_HOST_BYTES[engine_of(service, layout)])})}
    if layout.gpu == "device-plugin":
        return asked | {"limits": Flow({"nvidia.com/gpu": 1})}
    return {"claims": [Flow({"name": CARD})]} | asked


def pod_annotations(workers: Iterable[Service]) -> Keys:
    """What the labels of workers say in Docker, of all in one pod: names with commas, bytes by worker."""
    said = [(one.name, dict(one.labels)) for one in workers]
    found: Keys = {
        key: ",".join(labels[key] for _, labels in said if key in labels) for key in (MODEL, TASK, SERVED_NAMES)
    }
    found[BYTES] = ",".join(f"{name}={labels[BYTES]}" for name, labels in said)
    found[METRICS] = ",".join(labels[METRICS] for _, labels in said if METRICS in labels)
    return {key: value for key, value in found.items() if value}


def dollars(text: str) -> str:
    """`text` for arguments and values of variables, where `$(NAME)` is a variable and `$$` is a `$`."""
    return re.sub(r"\$(?=[($])", "$$$$", text)


def _texts(values: Iterable[Value]) -> Node:
    items: tuple[Node, ...] = tuple(dollars(_text(value)) for value in values)
    if not items:
        return None
    return Arguments(items) if any(is_flag(item) for item in items) else Flow(list(items))


def _text(value: Value) -> str:
    if isinstance(value, Secret):
        raise ValueError(f"{value.name} is a secret, and arguments are read by everybody")
    return value
