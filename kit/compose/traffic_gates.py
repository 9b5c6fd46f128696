"""The traffic gates: what sends requests to workers, and is drained of a worker before that stops.

SMG reads a list of workers. The printed list is kept beside it until it is complete again, so that it is restored even
after a crash. Commands go to HAProxy's own socket, which listens inside its container alone: a server that drains gets
no new request, and finishes those it has. HAProxy forgets them when it restarts; an `up` that was killed leaves servers
that drain, and the next `up` makes them ready again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from kit.compose import exec as container_exec
from kit.errors import TargetError
from kit.files import read_text, write_atomically
from kit.routers import drain_state
from kit.routers.drain_state import Server
from kit.routers.haproxy import CONTROL_PORT

if TYPE_CHECKING:
    from docker import DockerClient

KEPT = ".kept"
_ASK = f'printf "%s\\n" "$1" | nc 127.0.0.1 {CONTROL_PORT}'


class TrafficGate(Protocol):
    """What sends requests to services. Nothing raises: a gate that does not answer sends no requests."""

    def up_to_date(self) -> bool:
        """Whether it has read the files that were printed for it."""

    def close(self, out: Collection[str]) -> None:
        """Sends nothing more to `out`, which is every service that is to be out now."""

    def open(self, service: str, out: Collection[str]) -> None:
        """Sends to `service` again; `out` are those who stay out."""

    def drained(self, services: Collection[str]) -> bool:
        """Whether nothing new is sent to them."""

    def idle(self, service: str) -> bool:
        """Whether everything that was sent to it is answered, as far as this gate knows."""

    def serving(self, services: Collection[str]) -> bool:
        """Whether requests are sent to them again."""

    def restore(self) -> None:
        """Puts every service back, those too that an `up` left out when it was killed."""


class SmgGate:
    """The TrafficGate of SMG. `whole` is the list with every name, at `file`; the container `router` reads it again
    whenever it changes."""

    def __init__(self, client: DockerClient, router: str, file: Path, whole: str) -> None:
        self.client, self.router, self.file, self.whole = client, router, file, whole
        self.touched = False

    def up_to_date(self) -> bool:
        return True

    def close(self, out: Collection[str]) -> None:
        write_atomically(_kept(self.file), self.whole)
        self.touched = True
        self._write(out)

    def open(self, service: str, out: Collection[str]) -> None:
        self._write(out)

    def drained(self, services: Collection[str]) -> bool:
        return drain_state.drained(self._workers(), services)

    def idle(self, service: str) -> bool:
        """Its list does not tell; the worker does."""
        return True

    def serving(self, services: Collection[str]) -> bool:
        answer = self._workers()
        return not answer or drain_state.serving(answer, self.whole, services)

    def restore(self) -> None:
        if self.touched:
            self._write(())
            _kept(self.file).unlink(missing_ok=True)

    def _write(self, out: Collection[str]) -> None:
        write_atomically(self.file, drain_state.without(self.whole, out))

    def _workers(self) -> str:
        """ "" when the router does not answer."""
        with suppress(TargetError):
            return container_exec.workers(self.client, self.router)
        return ""


def restore(file: Path) -> None:
    """Completes the list that an `up` left behind when it was killed."""
    whole = read_text(_kept(file))
    if whole is None:
        return
    if drain_state.is_part(read_text(file) or "", whole):
        write_atomically(file, whole)
    _kept(file).unlink(missing_ok=True)


def _kept(file: Path) -> Path:
    return file.with_name(file.name + KEPT)


class HaproxyGate:
    """The container that HAProxy runs in; `mark` names the configuration that it should have read. A TrafficGate."""

    def __init__(self, client: DockerClient, container: str, mark: str) -> None:
        self.client, self.container, self.mark = client, container, mark

    def up_to_date(self) -> bool:
        """HAProxy names the configuration that it has read; when it reads a new one, it forgets which servers drain."""
        answer = self._ask("show info")
        return not answer or not self.mark or f"description: {self.mark}" in answer

    def close(self, out: Collection[str]) -> None:
        self._set("drain", drain_state.of(self._servers(), out))

    def open(self, service: str, out: Collection[str]) -> None:
        self._set("ready", drain_state.of(self._servers(), [service]))

    def drained(self, services: Collection[str]) -> bool:
        return all(server.closed for server in drain_state.of(self._servers(), services))

    def idle(self, service: str) -> bool:
        return not any(server.requests for server in drain_state.of(self._servers(), [service]))

    def serving(self, services: Collection[str]) -> bool:
        return all(server.state.startswith("UP") for server in drain_state.of(self._servers(), services))

    def restore(self) -> None:
        """A draining server that is down shows only that it is down: so all of them are set."""
        self._set("ready", self._servers())

    def _servers(self) -> tuple[Server, ...]:
        return drain_state.servers(self._ask("show stat"))

    def _set(self, state: str, servers: Iterable[Server]) -> None:
        if commands := [f"set server {server.backend}/{server.name} state {state}" for server in servers]:
            self._ask("; ".join(commands))

    def _ask(self, command: str) -> str:
        """ "" when HAProxy does not answer."""
        with suppress(TargetError):
            return container_exec.shell(self.client, self.container, _ASK, command)
        return ""
