"""The router's list of workers while `up` works: who stops is taken out first, and put back when it serves again.

The list as it was printed is kept beside it until it is whole again, so that it is mended even after a crash. While no
router runs, nothing is taken out: one that Docker Compose starts meanwhile finds every name.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from kit import drain
from kit import labels as kit_labels
from kit import status as views
from kit.errors import TargetError
from kit.files import read_text, write_atomically
from kit.routers import smg
from kit.targets import inside
from kit.targets.events import Waiting
from kit.targets.observe import containers
from kit.targets.reconcile import Operation
from kit.targets.wait import Walk

WORKER_PORT = 8000
LET_GO = 20.0  # seconds that the router may take to read its list again
FINISH = 120.0  # seconds that requests in flight may take
KEPT = ".kept"


class Names:
    """`whole` is the list with every name; `router` is the container that reads it, None when nothing is to be done."""

    def __init__(self, walk: Walk, file: Path, whole: str, router: str | None) -> None:
        self.walk, self.file, self.whole, self.router = walk, file, whole, router
        self.out: set[str] = set()
        self.touched = False

    def close(self, services: Collection[str]) -> None:
        """Takes these services out, and returns when they have no request left, or when that takes too long."""
        if self.router is None:
            return
        write_atomically(self.file.with_name(self.file.name + KEPT), self.whole)
        self.touched = True
        self.out |= set(services)
        self._write()
        words = ", ".join(services)
        self._wait(words, "the router lets go of it", LET_GO, lambda: drain.let_go(self._router_says(), services))
        for service in services:
            self._wait(service, "its last requests are answered", FINISH, lambda s=service: self._at_rest(s))  # type: ignore[misc]

    def open(self, service: str) -> None:
        """Puts a service back."""
        if service in self.out:
            self.out.discard(service)
            self._write()

    def settle(self) -> None:
        """Returns when the router knows every name, or when that takes too long."""
        if self.touched:
            self._wait("router", "it takes up the names", LET_GO, lambda: self._all_known())

    def restore(self) -> None:
        """The list is whole again."""
        if self.touched:
            self.out.clear()
            self._write()
            self.file.with_name(self.file.name + KEPT).unlink(missing_ok=True)

    def _write(self) -> None:
        write_atomically(self.file, drain.without(self.whole, self.out))

    def _router_says(self) -> str:
        """ "" when it does not answer: then it sends nobody anything."""
        with suppress(TargetError):
            return inside.workers(self.walk.client, str(self.router))
        return ""

    def _all_known(self) -> bool:
        said = self._router_says()
        return not said or drain.taken_up(said, self.whole)

    def _at_rest(self, service: str) -> bool:
        with suppress(TargetError):
            container = inside.container_of(self.walk.client, self.walk.project.name, service)
            said = inside.get(self.walk.client, container, WORKER_PORT, "/metrics")
            return drain.at_rest(views.load(said, time.monotonic()))
        return True

    def _wait(self, who: str, state: str, most: float, done: Callable[[], bool]) -> None:
        clock = self.walk.clock
        began = clock.now()
        while not done() and (seconds := clock.now() - began) < most:
            self.walk.watch(Waiting(who, state, seconds, None, ""))
            clock.sleep(clock.pause)


@contextmanager
def around(walk: Walk, operations: Sequence[Operation]) -> Iterator[Names]:
    """The names while `operations` are done; the list is whole again afterwards, whatever happens."""
    file = listing(walk.project.file.parent)
    mend(walk.project.file.parent)
    whole = read_text(file)
    drains = whole is not None and any(op.verb == "drain" for op in operations)
    names = Names(walk, file, whole or "", _router(walk) if drains else None)
    try:
        yield names
    finally:
        names.restore()


def mend(folder: Path) -> None:
    """Makes the list whole where a walk was killed before it could."""
    file = listing(folder)
    kept = file.with_name(file.name + KEPT)
    whole = read_text(kept)
    if whole is None:
        return
    if drain.is_part(read_text(file) or "", whole):
        write_atomically(file, whole)
    kept.unlink(missing_ok=True)


def listing(folder: Path) -> Path:
    """Where the list lies."""
    return folder / smg.LISTING


def _router(walk: Walk) -> str | None:
    found = containers(walk.client, walk.project.name)
    here = (
        c for c in found if c.label(kit_labels.ROLE) == "router" and c.service == smg.NAME and c.status == "running"
    )
    return next((each.id for each in here), None)
