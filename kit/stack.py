"""Plan -> Stack: the services, networks, volumes and files of one compose project, as frozen values.

Everything is decided here (and in the engine's and the router's module); the template only prints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


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
    """`source` is a volume's name, a path (relative to the compose file), or a tmpfs's size option."""

    kind: Literal["bind", "volume", "tmpfs"]
    source: str
    target: str
    read_only: bool = False


@dataclass(frozen=True)
class Health:
    """A health check; times in seconds."""

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


Condition = Literal["service_started", "service_healthy", "service_completed_successfully"]


@dataclass(frozen=True)
class Service:
    """One compose service. `comment` lines are printed above it: the bill of a worker."""

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
    device: Device | None = None
    restart: str = "on-failure:3"
    stop_grace: int = 60
    shm_bytes: int | None = None
    user: str | None = None
    read_only: bool = False
    labels: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Network:
    """`internal` networks reach nothing outside and publish nothing."""

    name: str
    internal: bool


@dataclass(frozen=True)
class File:
    """A file that a service mounts, beside the compose file; `path` is relative to it."""

    path: str
    text: str


@dataclass(frozen=True)
class Probe:
    """A name that clients may put in "model", and what it must answer. `base` is the base model's name of an adapter."""

    name: str
    task: Literal["generate", "embed", "rerank", "classify"]
    service: str
    base: str | None = None


@dataclass(frozen=True)
class Stack:
    """A whole project, in boot order. `header` lines open the file."""

    project: str
    header: tuple[str, ...]
    services: tuple[Service, ...]
    networks: tuple[Network, ...]
    volumes: tuple[str, ...]
    files: tuple[File, ...]
    probes: tuple[Probe, ...]
