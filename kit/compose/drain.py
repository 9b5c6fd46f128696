"""Drains workers while `up` works: one that stops is taken out of the routers first, and put back when it serves again.

What sends requests to workers is a traffic gate: SMG, and HAProxy where it stands in front of it. While none of them
runs, nothing is taken out: a router that Docker Compose starts meanwhile finds every name.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from kit.compose import stats, traffic_gates
from kit.compose.events import Waiting
from kit.compose.observe import containers
from kit.compose.observed import ContainerState
from kit.compose.operation import Operation
from kit.compose.traffic_gates import HaproxyGate, SmgGate, TrafficGate
from kit.compose.wait import ExecutionContext
from kit.files import read_text
from kit.routers import drain_state, haproxy, smg
from kit.stack import labels as kit_labels

REREAD = 20.0  # seconds that a router may take to read its list again
FINISH = 120.0  # seconds that open requests may take


class Traffic:
    """Which services are out, at every gate."""

    def __init__(self, context: ExecutionContext, gates: Sequence[TrafficGate]) -> None:
        self.context, self.gates = context, gates
        self.out: set[str] = set()
        self.back: set[str] = set()

    def close(self, services: Collection[str]) -> None:
        """Takes these services out, and returns when they have no open request, or when that takes too long. Those that
        were put back before serve by then: no two names are away at once where one would do."""
        if not self.gates:
            return
        self.settle()
        self._wait("router", "it reads its files", REREAD, lambda: all(gate.up_to_date() for gate in self.gates))
        self.out |= set(services)
        for gate in self.gates:
            gate.close(self.out)
        names = ", ".join(services)
        self._wait(names, "the router drains it", REREAD, lambda: all(gate.drained(services) for gate in self.gates))
        for service in services:
            self._wait(service, "its open requests are answered", FINISH, lambda s=service: self._idle(s))  # type: ignore[misc]

    def open(self, service: str) -> None:
        """Puts a service back."""
        if service not in self.out:
            return
        self.out.discard(service)
        self.back.add(service)
        for gate in self.gates:
            gate.open(service, self.out)

    def settle(self) -> None:
        """Returns when those who were put back are sent to again, or when that takes too long."""
        if self.back:
            self._wait("router", "it adds the names", REREAD, lambda: all(g.serving(self.back) for g in self.gates))
            self.back.clear()

    def _idle(self, service: str) -> bool:
        """As the gates and the worker itself say; one that does not answer, or is unhealthy, is not waited for."""
        if not all(gate.idle(service) for gate in self.gates):
            return False
        client, project = self.context.client, self.context.project.name
        running = (each for each in containers(client, project) if each.service == service and each.status == "running")
        loads = [stats.load(client, each, time.monotonic()) for each in running if each.health != "unhealthy"]
        return all(map(drain_state.idle, loads))

    def _wait(self, service: str, state: str, most: float, done: Callable[[], bool]) -> None:
        clock = self.context.clock
        began = clock.now()
        while not done() and (seconds := clock.now() - began) < most:
            self.context.watch(Waiting(service, state, seconds, None, ""))
            clock.sleep(clock.pause)


@contextmanager
def around(context: ExecutionContext, operations: Sequence[Operation]) -> Iterator[Traffic]:
    """The traffic while `operations` are done; every service is back afterwards, whatever happens."""
    folder = context.project.file.parent
    restore(folder)
    gates = tuple(_gates(context, folder))
    for gate in gates:
        gate.restore()
    traffic = Traffic(context, gates if any(op.verb == "drain" for op in operations) else ())
    try:
        yield traffic
    finally:
        for gate in traffic.gates:
            gate.restore()


def restore(folder: Path) -> None:
    """Completes the router's list where an `up` was killed before it could."""
    traffic_gates.restore(folder / smg.LISTING)


def _gates(context: ExecutionContext, folder: Path) -> Iterator[TrafficGate]:
    whole = read_text(folder / smg.LISTING)
    for each in filter(_is_running_router, containers(context.client, context.project.name)):
        if each.service == smg.NAME and whole is not None:
            yield SmgGate(context.client, each.id, folder / smg.LISTING, whole)
        if each.service == haproxy.NAME:
            yield HaproxyGate(context.client, each.id, haproxy.mark_of(read_text(folder / haproxy.CONFIG) or ""))


def _is_running_router(one: ContainerState) -> bool:
    return one.label(kit_labels.ROLE) == "router" and one.status == "running"
