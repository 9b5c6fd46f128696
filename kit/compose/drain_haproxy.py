"""HAProxy's servers while `up` works: one that drains gets no new request, and those it has are finished.

HAProxy is told over its own socket, which listens inside its container alone. What it was told it forgets when it is
started anew; a walk that was killed leaves servers that drain, and the next walk finds and fixes them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from kit.compose import exec as inside
from kit.errors import TargetError
from kit.routers import drain_state
from kit.routers.drain_state import Server
from kit.routers.haproxy import CONTROL_PORT

if TYPE_CHECKING:
    from docker import DockerClient

_SAY = f'printf "%s\\n" "$1" | nc 127.0.0.1 {CONTROL_PORT}'


class HaproxyDrain:
    """The container that HAProxy runs in; `mark` names the configuration that it is to read. A door of routing.py."""

    def __init__(self, client: DockerClient, container: str, mark: str) -> None:
        self.client, self.container, self.mark = client, container, mark

    def up_to_date(self) -> bool:
        """HAProxy says which configuration it has read; a new one forgets which servers drain."""
        said = self._say("show info")
        return not said or not self.mark or f"description: {self.mark}" in said

    def close(self, out: Collection[str]) -> None:
        self._set("drain", drain_state.of(self._servers(), out))

    def open(self, service: str, out: Collection[str]) -> None:
        self._set("ready", drain_state.of(self._servers(), [service]))

    def let_go(self, services: Collection[str]) -> bool:
        return all(server.closed for server in drain_state.of(self._servers(), services))

    def at_rest(self, service: str) -> bool:
        return not any(server.requests for server in drain_state.of(self._servers(), [service]))

    def taken_up(self, services: Collection[str]) -> bool:
        return all(server.state.startswith("UP") for server in drain_state.of(self._servers(), services))

    def restore(self) -> None:
        """A server that drains and is down says only that it is down: so all of them are told."""
        self._set("ready", self._servers())

    def _servers(self) -> tuple[Server, ...]:
        return drain_state.servers(self._say("show stat"))

    def _set(self, state: str, servers: Iterable[Server]) -> None:
        words = [f"set server {server.backend}/{server.name} state {state}" for server in servers]
        if words:
            self._say("; ".join(words))

    def _say(self, command: str) -> str:
        """ "" when HAProxy does not answer."""
        with suppress(TargetError):
            return inside.shell(self.client, self.container, _SAY, command)
        return ""
