"""Plan -> Stack: the services, networks, volumes and files of one compose project, as frozen values.

Everything is decided here (and in the engine's and the router's module); the template only prints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kit.manifest.model import Task

# The networks: workers are reached by the router alone, edge is where the router is published, egress reaches the Hub.
WORKERS, EDGE, EGRESS = "workers", "edge", "egress"
# The host gets no address on that network, so that not even its own users reach a worker past the router's key.
# A Docker Engine that does not know the option ignores it; 26.1 knows it.
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
    A volume that is `in_memory` lives there while a container mounts it."""

    kind: Literal["bind", "volume", "tmpfs"]
    source: str
    target: str
    read_only: bool = False
    in_memory: bool = False


@dataclass(frozen=True)
class Health:
    """A health check: a program and its arguments, without a shell, run every 5 seconds. `asks` is the port and the
    path that it gets, where it is an HTTP request to the container."""

    command: tuple[str, ...]
    retries: int
    start_period: int
    asks: tuple[int, str] | None = None


def http_health(port: int, path: str, retries: int, start_period: int) -> Health:
    """A health check that asks a path of the container itself, in images that have Python."""
    ask = f"c = h.HTTPConnection('127.0.0.1', {port}, timeout=4); c.request('GET', '{path}')"
    script = f"import http.client as h; {ask}; raise SystemExit(c.getresponse().status != 200)"
    return Health(("python3", "-c", script), retries, start_period, (port, path))


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


Condition = Literal["service_started", "service_healthy", "service_completed_successfully"]


@dataclass(frozen=True)
class Service:
    """One compose service. `comment` lines are printed above it: the bill of a worker. Without `networks` it has no
    network at all. It is restarted whenever one of `restarts_with`, which are dependencies of it, is recreated."""

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
    user: str | None = None
    read_only: bool = False
    labels: tuple[tuple[str, str], ...] = ()


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
    """A name that clients may put in "model", and what it must answer. `base` is an adapter's base model's name;
    `tools` whether its tool calls are read."""

    name: str
    task: Task
    service: str
    base: str | None = None
    tools: bool = False


@dataclass(frozen=True)
class Stack:
    """A whole project, in boot order. `header` lines open the file; `in_memory` are those of the `volumes` that live
    there; `texts`, each with its name, are printed once where commands repeat them."""

    project: str
    header: tuple[str, ...]
    services: tuple[Service, ...]
    networks: tuple[Network, ...]
    volumes: tuple[str, ...]
    files: tuple[File, ...]
    probes: tuple[Probe, ...]
    in_memory: tuple[str, ...] = ()
    texts: tuple[tuple[str, str], ...] = ()
