"""The workers as services: with their bills, labels and card, and the order in which they start. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from kit.engines import ENGINES, mps
from kit.engines.download import TEXTS
from kit.memory.bill import Plan, Share
from kit.routers import ROUTERS, haproxy
from kit.stack.comments import bill, header
from kit.stack.labels import worker_labels
from kit.stack.model import NO_HOST, WORKERS, Condition, Device, Network, Probe, Route, Service, Stack


def worker_services(made: Sequence[tuple[Service, Share]], plan: Plan) -> list[Service]:
    """What the engines made of the shares. An engine that serves several shares in one process gives each the same
    service, kept once: its bill has the parts of all, its labels promise their sum. Its own labels come last."""
    found: dict[str, tuple[Service, list[Share]]] = {}
    for service, share in made:
        found.setdefault(service.name, (service, []))[1].append(share)
    return [_worker(service, shares, plan) for service, shares in found.values()]


def _worker(service: Service, shares: Sequence[Share], plan: Plan) -> Service:
    engine = ENGINES[shares[0].model.engine]
    return replace(
        service,
        comment=(*service.comment, *(line for share in shares for line in bill(share))),
        labels=(*worker_labels(shares, plan, engine.PORT, engine.METRICS), *service.labels),
        device=_device(plan),
    )


def in_turn(workers: Sequence[Service]) -> list[Service]:
    """Each worker waits for the one before it to be healthy."""
    waits: list[tuple[tuple[str, Condition], ...]] = [(), *(((w.name, "service_healthy"),) for w in workers[:-1])]
    return [replace(w, depends_on=(*w.depends_on, *wait)) for w, wait in zip(workers, waits, strict=True)]


def _device(plan: Plan) -> Device | None:
    gpu = plan.manifest.gpu
    if plan.gpu.kind == "host":
        return None
    return Device("cdi", f"nvidia.com/gpu={gpu.device}") if gpu.access == "cdi" else Device("nvidia", gpu.device)


Named = TypeVar("Named", Service, Probe)


Exposed = Callable[[Route], tuple[Route, ...]]


def as_it_is(route: Route) -> tuple[Route, ...]:
    """A route of a Compose project: its host is the service, or one more name of it."""
    return (route,)


def worker_route(service: str, share: Share) -> Route:
    """The way to a worker as such: requests for tensors, and replicas without a name of their own."""
    return Route(service, service, ENGINES[share.model.engine].PORT, share.model.name)


def assemble(plan: Plan, exposed: Exposed = as_it_is, resolvers: bool = True) -> Stack:
    """Plan -> the whole project in boot order: downloads, what shares the card, the workers in the manifest's order,
    the router. `exposed` says where the router reaches what an engine calls a route; `resolvers`, whether those hosts
    may get other addresses while it runs.

    Downloads come first because they need no card and fail early on a gated repository. The manifest's order is kept
    because every byte is pinned: no order fits better, and this one the user chose. Raises ManifestError for what no
    engine or router here can serve."""

    pairs = [(ENGINES[share.model.engine], share) for share in plan.shares]
    router = ROUTERS[plan.manifest.router.engine]
    made = worker_services([(engine.service(share, plan), share) for engine, share in pairs], plan)
    daemons, workers = mps.shared(made, plan) if plan.manifest.gpu.mps else ((), made)
    downloads = _first_of_each(one for engine, share in pairs for one in engine.downloads(share, plan))
    proxies = _first_of_each(one for engine, share in pairs for one in engine.proxies(share, plan))
    routed = tuple(each for engine, share in pairs for route in engine.routes(share) for each in exposed(route))
    ends: tuple[Service, ...] = (router.service(plan, _awaited(plan, (*workers, *proxies), exposed)),)
    own = (file for engine, share in pairs for file in engine.files(share, plan))
    files = (*router.files(routed), *{file.path: file for file in own}.values())
    if haproxy.needed(plan.manifest):
        ranking = [(engine, share) for engine, share in pairs if haproxy.pools_in(share.model)]
        pooled = (each for engine, share in ranking for route in engine.routes(share) for each in exposed(route))
        infer = (share for share in plan.shares if share.model.task == "infer")
        tensors = (each for share in infer for each in exposed(worker_route(share.service, share)))
        ends, more = haproxy.before(plan, ends[0], pooled, tensors, resolvers)
        files = (*files, *more)
    ordered = in_turn(workers) if plan.manifest.start == "sequential" else workers
    services = (*downloads, *daemons, *ordered, *proxies, *ends)
    return Stack(
        project=plan.manifest.name,
        header=header(plan),
        services=services,
        networks=_networks(services),
        volumes=_volumes(services),
        in_memory=_volumes(services, in_memory=True),
        files=files,
        probes=_first_of_each(probe for engine, share in pairs for probe in engine.probes(share, plan)),
        texts=TEXTS,
    )


def _awaited(plan: Plan, services: Iterable[Service], exposed: Exposed) -> tuple[str, ...]:
    """The hosts that the router waits for."""
    ports = {share.service: worker_route(share.service, share) for share in plan.shares}
    routes = (ports.get(one.name, Route(one.name, one.name, 0, "")) for one in services)
    return tuple(each.host for route in routes for each in exposed(route))


def _first_of_each(named: Iterable[Named]) -> tuple[Named, ...]:
    """One of each name: replicas answer to the same, and models may share a download."""
    found: dict[str, Named] = {}
    for thing in named:
        found.setdefault(thing.name, thing)
    return tuple(found.values())


def _networks(services: Iterable[Service]) -> tuple[Network, ...]:
    used = dict.fromkeys(place.network for service in services for place in service.networks)
    return tuple(Network(name, name == WORKERS, NO_HOST if name == WORKERS else ()) for name in used)


def _volumes(services: Iterable[Service], in_memory: bool = False) -> tuple[str, ...]:
    """The volumes that are mounted: all of them, or only those in memory."""
    mounts = (mount for service in services for mount in service.mounts if mount.kind == "volume")
    return tuple(dict.fromkeys(mount.source for mount in mounts if mount.in_memory or not in_memory))
