"""Names and their workers while `up` works: who stops is taken out first, and put back when it serves again.

What sends requests to workers is a door: the router's list (listing.py), and HAProxy where it stands in front of the
router (fronting.py). While none of them runs, nothing is taken out: a router that Docker Compose starts meanwhile finds
every name.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from kit.compose import drain_smg
from kit.compose import exec as inside
from kit.compose.drain_haproxy import HaproxyDrain
from kit.compose.drain_smg import SmgDrain
from kit.compose.events import Waiting
from kit.compose.observe import containers, inspect
from kit.compose.observed import ContainerState
from kit.compose.operation import Operation
from kit.compose.wait import ExecutionContext
from kit.errors import TargetError
from kit.files import read_text
from kit.metrics import load
from kit.routers import drain_state, haproxy, smg
from kit.stack import labels as kit_labels

WORKER_PORT = 8000
LET_GO = 20.0  # seconds that a router may take to read its list again
FINISH = 120.0  # seconds that requests in flight may take


class TrafficGate(Protocol):
    """Who sends requests to services. Nothing raises: a door that does not answer sends nobody anything."""

    def up_to_date(self) -> bool:
        """Whether it has read the files that were printed for it."""

    def close(self, out: Collection[str]) -> None:
        """Sends nothing more to `out`, which is everybody who is to be out now."""

    def open(self, service: str, out: Collection[str]) -> None:
        """Sends to `service` again; `out` are those who stay out."""

    def let_go(self, services: Collection[str]) -> bool:
        """Whether nothing new is sent to them."""

    def at_rest(self, service: str) -> bool:
        """Whether nothing that was sent to it is unanswered, as far as this door knows."""

    def taken_up(self, services: Collection[str]) -> bool:
        """Whether requests are sent to them again."""

    def restore(self) -> None:
        """Everybody is in again, those too whom a walk left out that was killed."""


class Traffic:
    """Who is out, at every door."""

    def __init__(self, walk: ExecutionContext, doors: Sequence[TrafficGate]) -> None:
        self.walk, self.doors = walk, doors
        self.out: set[str] = set()
        self.back: set[str] = set()

    def close(self, services: Collection[str]) -> None:
        """Takes these services out, and returns when they have no request left, or when that takes too long. Those who
        were put back before serve by then: not two names are away at once where one would do."""
        if not self.doors:
            return
        self.settle()
        self._wait("router", "it reads its files", LET_GO, lambda: all(door.up_to_date() for door in self.doors))
        self.out |= set(services)
        for door in self.doors:
            door.close(self.out)
        words = ", ".join(services)
        self._wait(words, "the router lets go of it", LET_GO, lambda: all(d.let_go(services) for d in self.doors))
        for service in services:
            self._wait(service, "its last requests are answered", FINISH, lambda s=service: self._at_rest(s))  # type: ignore[misc]

    def open(self, service: str) -> None:
        """Puts a service back."""
        if service not in self.out:
            return
        self.out.discard(service)
        self.back.add(service)
        for door in self.doors:
            door.open(service, self.out)

    def settle(self) -> None:
        """Returns when those who were put back are sent to again, or when that takes too long."""
        if self.back:
            self._wait(
                "router", "it takes up the names", LET_GO, lambda: all(d.taken_up(self.back) for d in self.doors)
            )
            self.back.clear()

    def restore(self) -> None:
        """Everybody is in."""
        for door in self.doors:
            door.restore()

    def _at_rest(self, service: str) -> bool:
        return all(door.at_rest(service) for door in self.doors) and self._has_no_request(service)

    def _has_no_request(self, service: str) -> bool:
        """As the worker itself says; one that does not tell, or that is unhealthy, is not waited for."""
        client, project = self.walk.client, self.walk.project.name
        with suppress(TargetError):
            found = inspect(client, inside.container_of(client, project, service))
            if found is not None and found.health != "unhealthy":
                said = inside.get(client, found.id, WORKER_PORT, "/metrics")
                return drain_state.at_rest(load(said, time.monotonic()))
        return True

    def _wait(self, who: str, state: str, most: float, done: Callable[[], bool]) -> None:
        clock = self.walk.clock
        began = clock.now()
        while not done() and (seconds := clock.now() - began) < most:
            self.walk.watch(Waiting(who, state, seconds, None, ""))
            clock.sleep(clock.pause)


@contextmanager
def around(walk: ExecutionContext, operations: Sequence[Operation]) -> Iterator[Traffic]:
    """The names while `operations` are done; everybody is in again afterwards, whatever happens."""
    folder = walk.project.file.parent
    restore(folder)
    doors = tuple(_doors(walk, folder))
    for door in doors:
        door.restore()
    names = Traffic(walk, doors if any(op.verb == "drain" for op in operations) else ())
    try:
        yield names
    finally:
        names.restore()


def restore(folder: Path) -> None:
    """Makes the router's list whole where a walk was killed before it could."""
    drain_smg.restore(folder / smg.LISTING)


def _doors(walk: ExecutionContext, folder: Path) -> Iterator[TrafficGate]:
    running = [each for each in containers(walk.client, walk.project.name) if _is_router(each)]
    whole = read_text(folder / smg.LISTING)
    for each in running:
        if each.service == smg.NAME and whole is not None:
            yield SmgDrain(walk.client, each.id, folder / smg.LISTING, whole)
        if each.service == haproxy.NAME:
            yield HaproxyDrain(walk.client, each.id, haproxy.mark_of(read_text(folder / haproxy.CONFIG) or ""))


def _is_router(one: ContainerState) -> bool:
    return one.label(kit_labels.ROLE) == "router" and one.status == "running"
