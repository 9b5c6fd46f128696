"""HAProxy's servers while `up` works: one that drains gets no new request, and finishes those it has.

Commands go to HAProxy's own socket, which listens inside its container alone. HAProxy forgets them when it restarts; an
`up` that was killed leaves servers that drain, and the next `up` makes them ready again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from kit.compose import exec as container_exec
from kit.errors import TargetError
from kit.routers import drain_state
from kit.routers.drain_state import Server
from kit.routers.haproxy import CONTROL_PORT

if TYPE_CHECKING:
    from docker import DockerClient

_ASK = f'printf "%s\\n" "$1" | nc 127.0.0.1 {CONTROL_PORT}'


class HaproxyDrain:
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
