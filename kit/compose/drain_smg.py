"""SMG's list of workers while `up` works. The printed list is kept beside it until it is complete again, so that it is
restored even after a crash."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from kit.compose import exec as container_exec
from kit.errors import TargetError
from kit.files import read_text, write_atomically
from kit.routers import drain_state

if TYPE_CHECKING:
    from docker import DockerClient

KEPT = ".kept"


class SmgDrain:
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
