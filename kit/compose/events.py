"""Events that `up` and `down` report while they work, as values. Times are in seconds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Pulling:
    """`done` of `total` bytes are here; both are 0 until the registry says more."""

    image: str
    done: int
    total: int


@dataclass(frozen=True)
class Did:
    """An operation on anything but a service is done: `verb` (remove, stop, create network, ...), `name` and cause."""

    verb: str
    name: str
    cause: str


@dataclass(frozen=True)
class Kept:
    """A service is as the file says."""

    service: str
    cause: str


@dataclass(frozen=True)
class Started:
    """A service's container was started, because of `cause`."""

    service: str
    verb: str
    cause: str


@dataclass(frozen=True)
class Waiting:
    """A service is not ready yet. `usual` is how long it took last time, None when that is unknown."""

    service: str
    state: str
    seconds: float
    usual: float | None
    line: str


@dataclass(frozen=True)
class Retrying:
    """A service had a transient failure, and Docker restarts it."""

    service: str
    restarts: int
    cause: str


@dataclass(frozen=True)
class Ready:
    """A service is healthy, or runs and has no health check, or has done its work."""

    service: str
    seconds: float
    state: str


@dataclass(frozen=True)
class Failed:
    """A service failed, and `up` stops."""

    service: str
    what: str


Event = Pulling | Did | Kept | Started | Waiting | Retrying | Ready | Failed
Watch = Callable[[Event], None]


def unwatched(event: Event) -> None:
    """Ignores an event."""
