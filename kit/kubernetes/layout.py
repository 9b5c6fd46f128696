"""Plan -> where everything is in a cluster: the shape, the port of each worker in its pod, and a Service for each host
that another pod asks.

One card: a Deployment for each model over one shared claim, so that a crash or a change touches one model. Many cards,
or `start: sequential` in the manifest: a pod with all workers of a card, as often as there are copies. Each host of the
router's list is a Service of one pod that also lists it while it is not ready: a sick worker never hides a neighbour in
its pod, and its address stays when its pod is replaced.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kit.assemble import assemble, worker_route
from kit.engines import ENGINES, ollama
from kit.kubernetes.names import CARD, POD_NAME, Keys, dns_label, labels, pods_of, role_of, unique
from kit.kubernetes.target_rules import shape_of
from kit.manifest.kubernetes import KubernetesConfig, Shape
from kit.memory.bill import Plan
from kit.routers import ROUTERS
from kit.stack.labels import METRICS, PORT
from kit.stack.model import File, Route, Service, Stack
from kit.stack.yaml_lines import Node

FIRST_PORT = 8010  # of vLLM's workers in one pod; Triton's ports, 8000 to 8002, lie below it


@dataclass(frozen=True)
class ServiceAddress:
    """A Service `name`:`port` -> `target` of the pod that `selector` finds. The router's list and proxies ask a pod
    also `while_not_ready`."""

    name: str
    selector: tuple[tuple[str, str], ...]
    port: int
    target: int
    role: str
    while_not_ready: bool


@dataclass(frozen=True)
class ClusterLayout:
    """`workers` listen at `ports` in their pods; what is printed of them, the bill included, is in `stack`."""

    plan: Plan
    stack: Stack
    shape: Shape
    workers: tuple[Service, ...]
    ports: Mapping[str, int]
    addresses: tuple[ServiceAddress, ...]

    @property
    def settings(self) -> KubernetesConfig:
        return self.plan.manifest.kubernetes

    @property
    def project(self) -> str:
        return self.stack.project

    @property
    def namespace(self) -> str:
        return self.settings.namespace or dns_label(self.project)

    @property
    def gpu(self) -> str:
        """dra, device-plugin or none."""
        return "none" if self.plan.gpu.kind == "host" else self.settings.gpu or "dra"

    @property
    def shared_cache(self) -> bool:
        """Whether all pods mount one volume; else each card has its own."""
        return self.shape == "deployment-per-model" or self.settings.access_mode == "ReadWriteMany"

    @property
    def indices(self) -> tuple[int | None, ...]:
        """The ordinals of the cards' pods; (None,) where a worker is a Deployment."""
        return (None,) if self.shape == "deployment-per-model" else tuple(range(self.settings.copies))

    def of_role(self, role: str) -> tuple[Service, ...]:
        """The services of a role, in boot order."""
        return tuple(one for one in self.stack.services if role_of(one) == role)


def lay_out(plan: Plan) -> ClusterLayout:
    """The stack with the cluster's host names. Raises ManifestError for what no engine or router here can serve."""
    shape = shape_of(plan.manifest)
    routes = _routes(plan)
    hosts = unique(route.host for route in routes)
    indices = range(plan.manifest.kubernetes.copies)

    def exposed(route: Route) -> tuple[Route, ...]:
        host = hosts.get(route.host, dns_label(route.host))
        if shape == "deployment-per-model":
            return (replace(route, host=host),)
        return tuple(replace(route, host=f"{host}-{index}") for index in indices)

    stack = _without_resolvers(assemble(plan, exposed, resolvers=False))
    workers = tuple(one for one in stack.services if role_of(one) == "worker")
    if shape == "pod-per-card":
        workers = tuple(_moved(one, FIRST_PORT + number) for number, one in enumerate(workers))
    ports = {one.name: int(dict(one.labels)[PORT]) for one in workers}
    addresses = [
        _address(each, index, stack, shape, ports) for route in routes for index, each in enumerate(exposed(route))
    ]
    return ClusterLayout(plan, stack, shape, workers, ports, (*addresses, *_routers(plan, stack)))


def _routes(plan: Plan) -> list[Route]:
    """Every host that another pod asks: the routes, and each worker under its own name, once."""
    found: dict[str, Route] = {}
    for share in plan.shares:
        engine = ENGINES[share.model.engine]
        own = engine.service(share, plan).name
        for route in (*engine.routes(share), worker_route(own, share)):
            found.setdefault(route.host, route)
    return list(found.values())


def _address(route: Route, index: int, stack: Stack, shape: Shape, ports: Mapping[str, int]) -> ServiceAddress:
    in_set = shape == "pod-per-card" and route.service in ports
    selector: Keys = {POD_NAME: f"{CARD}-{index}"} if in_set else pods_of(stack.project, route.service)
    role = "worker" if route.service in ports else "proxy"
    return ServiceAddress(
        route.host, _items(selector), route.port, ports.get(route.service, route.port), role, while_not_ready=True
    )


def _routers(plan: Plan, stack: Stack) -> list[ServiceAddress]:
    """The endpoint at the manifest's port; behind HAProxy, the router at its own."""
    port = ROUTERS[plan.manifest.router.engine].PORT
    found = []
    for one in stack.services:
        if role_of(one) == "router":
            published = next(((p.published, p.target) for p in one.ports), (port, port))
            selector = _items(pods_of(stack.project, one.name))
            found.append(ServiceAddress(one.name, selector, *published, "router", while_not_ready=False))
    return found


def _items(selector: Keys) -> tuple[tuple[str, str], ...]:
    return tuple((key, str(value)) for key, value in selector.items())


def _moved(worker: Service, port: int) -> Service:
    """A vLLM worker at another port: the containers of a pod share their ports. Others stay where they are."""
    if "--port" not in worker.command:
        return worker
    at = worker.command.index("--port") + 1
    said = dict(worker.labels) | {PORT: str(port), METRICS: f"{port}/metrics"}
    health = worker.health and replace(worker.health, asks=(port, worker.health.asks[1] if worker.health.asks else "/"))
    command = (*worker.command[:at], str(port), *worker.command[at + 1 :])
    return replace(worker, command=command, labels=tuple(said.items()), health=health)


def _without_resolvers(stack: Stack) -> Stack:
    """Ollama's proxy with a server whose address stays: a Service's does, and HAProxy's own resolver knows no search
    domains."""
    path = f"{ollama.PROXY}/haproxy.cfg"
    files = (File(path, ollama.proxy_config(resolvers=False)) if one.path == path else one for one in stack.files)
    return replace(stack, files=tuple(files))


@dataclass(frozen=True)
class ClusterObject:
    """`keys` as Kubernetes' API has them, below `comment` lines."""

    keys: Keys
    comment: tuple[str, ...] = ()

    @property
    def metadata(self) -> Mapping[str, Node]:
        found = self.keys["metadata"]
        return found if isinstance(found, Mapping) else {}


def named(
    version: str,
    kind: str,
    name: str,
    layout: ClusterLayout,
    component: str,
    body: Keys,
    comment: tuple[str, ...] = (),
    annotations: Keys | None = None,
) -> ClusterObject:
    """An object of the stack's namespace, with its labels."""
    said: Keys = {"annotations": annotations} if annotations else {}
    metadata: Keys = {
        "name": name,
        "namespace": layout.namespace,
        "labels": labels(layout.project, dns_label(name), component),
        **said,
    }
    return ClusterObject({"apiVersion": version, "kind": kind, "metadata": metadata, **body}, comment)
