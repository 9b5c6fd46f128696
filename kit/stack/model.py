"""Plan -> Stack: the services, networks, volumes and files of one compose project, as frozen values.

Everything is decided here (and in the engine's and the router's module); the template only prints.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeVar

from kit.units import MIB

if TYPE_CHECKING:
    from kit.memory.bill import Plan

# The networks: workers are reached by the router alone, edge is where the router is published, egress reaches the Hub.
WORKERS, EDGE, EGRESS = "workers", "edge", "egress"
# The host gets no address on that network, so that not even its own users reach a worker past the router's key.
# An engine that does not know the option passes it over; 26.1 knows it.
NO_HOST = (("com.docker.network.bridge.inhibit_ipv4", "true"),)


@dataclass(frozen=True)
class Secret:
    """The name of an environment variable whose value never gets into a file; prints as `${NAME:?why}`,
    or as `${NAME:-}` when `required` is False."""

    name: str
    why: str
    required: bool = True


Value = str | Secret


@dataclass(frozen=True)
class Mount:
    """`source` is a volume's name, a path (relative to the compose file), or a tmpfs's options (`size=67108864`).
    A volume that is `in_memory` lives there as long as somebody mounts it."""

    kind: Literal["bind", "volume", "tmpfs"]
    source: str
    target: str
    read_only: bool = False
    in_memory: bool = False


@dataclass(frozen=True)
class Health:
    """A health check: a program and its arguments, without a shell; times in seconds."""

    command: tuple[str, ...]
    interval: int
    timeout: int
    retries: int
    start_period: int


@dataclass(frozen=True)
class Port:
    """`bind`:`published` on the host -> `target` in the container."""

    bind: str
    published: int
    target: int


@dataclass(frozen=True)
class Attachment:
    """A service's place on a network; each alias is one more host name."""

    network: str
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Device:
    """The card: driver nvidia with an index or UUID, or cdi with a device's full name (nvidia.com/gpu=0)."""

    driver: Literal["nvidia", "cdi"]
    id: str


@dataclass(frozen=True)
class Logs:
    """How much of a container's output is kept: `files` files of `bytes` bytes, the oldest dropped."""

    bytes: int = 10 * MIB
    files: int = 3


Task = Literal["generate", "embed", "rerank", "classify", "infer"]
Condition = Literal["service_started", "service_healthy", "service_completed_successfully"]


@dataclass(frozen=True)
class Service:
    """One compose service. `comment` lines are printed above it: the bill of a worker. Without `networks` it reaches
    nobody and is reached by nobody. It is restarted when one of `restarts_with`, which it depends on, begins anew.
    `ipc` and `pid` are the namespaces that it is in, None for its own."""

    name: str
    image: str
    command: tuple[Value, ...]
    comment: tuple[str, ...] = ()
    entrypoint: tuple[str, ...] | None = None
    environment: tuple[tuple[str, Value], ...] = ()
    mounts: tuple[Mount, ...] = ()
    networks: tuple[Attachment, ...] = ()
    ports: tuple[Port, ...] = ()
    health: Health | None = None
    depends_on: tuple[tuple[str, Condition], ...] = ()
    restarts_with: tuple[str, ...] = ()
    device: Device | None = None
    restart: str = "on-failure:3"
    stop_grace: int = 60
    shm_bytes: int | None = None
    ipc: str | None = None
    pid: str | None = None
    user: str | None = None
    read_only: bool = False
    labels: tuple[tuple[str, str], ...] = ()
    init: bool = True
    cap_drop: tuple[str, ...] = ("ALL",)
    security_opt: tuple[str, ...] = ("no-new-privileges:true",)
    logs: Logs = Logs()


@dataclass(frozen=True)
class Network:
    """`internal` networks reach nothing outside and publish nothing; `options` are the bridge driver's."""

    name: str
    internal: bool
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class File:
    """A file that a service mounts, beside the compose file; `path` is relative to it."""

    path: str
    text: str


@dataclass(frozen=True)
class Route:
    """A name at the router: requests for `model_id` go to http://`host`:`port`, an alias of `service`."""

    service: str
    host: str
    port: int
    model_id: str


@dataclass(frozen=True)
class Probe:
    """A name that clients may put in "model", and what it must answer. `base` is an adapter's base model's name."""

    name: str
    task: Task
    service: str
    base: str | None = None


@dataclass(frozen=True)
class Stack:
    """A whole project, in boot order. `header` lines open the file; `in_memory` are those of the `volumes` that live
    there."""

    project: str
    header: tuple[str, ...]
    services: tuple[Service, ...]
    networks: tuple[Network, ...]
    volumes: tuple[str, ...]
    files: tuple[File, ...]
    probes: tuple[Probe, ...]
    in_memory: tuple[str, ...] = ()


Named = TypeVar("Named", Service, Probe)


def assemble(plan: Plan) -> Stack:
    """Plan -> the whole project in boot order: downloads, what shares the card, the workers in the manifest's order,
    the router.

    Downloads come first because they need no card and fail early on a gated repository. The manifest's order is kept
    because every byte is pinned: no order fits better, and this one the user chose. Raises ManifestError for what no
    engine or router here can serve."""
    # Engines and routers build Services: they import the types above, so they are imported when those exist.
    from kit.assemble import in_turn, worker_services
    from kit.engines import engine_of, mps
    from kit.routers import haproxy, router_of
    from kit.stack.comments import header

    pairs = [(engine_of(plan, share), share) for share in plan.shares]
    router = router_of(plan)
    made = worker_services([(engine.service(share, plan), share) for engine, share in pairs], plan)
    daemons, workers = mps.shared(made, plan) if plan.manifest.gpu.mps else ((), made)
    fetches = _first_of_each(fetch for engine, share in pairs for fetch in engine.fetches(share, plan))
    doors = _first_of_each(door for engine, share in pairs for door in engine.doors(share, plan))
    routed = tuple(route for engine, share in pairs for route in engine.routes(share))
    ends: tuple[Service, ...] = (router.service(plan, tuple(one.name for one in (*workers, *doors))),)
    own = (file for engine, share in pairs for file in engine.files(share, plan))
    files = (*router.files(routed), *{file.path: file for file in own}.values())
    if haproxy.needed(plan.manifest):
        ranking = [(engine, share) for engine, share in pairs if haproxy.pools_in(share.model)]
        pooled = (route for engine, share in ranking for route in engine.routes(share))
        tensors = (
            Route(share.service, share.service, engine.PORT, share.model.name)
            for engine, share in pairs
            if share.model.task == "infer"
        )
        ends, more = haproxy.before(plan, ends[0], pooled, tensors)
        files = (*files, *more)
    ordered = in_turn(workers) if plan.manifest.start == "sequential" else workers
    services = (*fetches, *daemons, *ordered, *doors, *ends)
    return Stack(
        project=plan.manifest.name,
        header=header(plan),
        services=services,
        networks=_networks(services),
        volumes=_volumes(services),
        in_memory=_volumes(services, in_memory=True),
        files=files,
        probes=_first_of_each(probe for engine, share in pairs for probe in engine.probes(share)),
    )


def _first_of_each(named: Iterable[Named]) -> tuple[Named, ...]:
    """Replicas answer to one name, and models may share a download: the first stands for all."""
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
