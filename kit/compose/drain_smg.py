"""The router's list of workers while `up` works. The list as it was printed is kept beside it until it is whole again,
so that it is fixed even after a crash."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from kit.compose import exec as inside
from kit.errors import TargetError
from kit.files import read_text, write_atomically
from kit.routers import drain_state

if TYPE_CHECKING:
    from docker import DockerClient

KEPT = ".kept"


class SmgDrain:
    """`whole` is the list with every name, at `file`; `router` is the container that reads it, again whenever it
    changes. A door of routing.py."""

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

    def let_go(self, services: Collection[str]) -> bool:
        return drain_state.let_go(self._said(), services)

    def at_rest(self, service: str) -> bool:
        """Its list does not tell: the worker itself does."""
        return True

    def taken_up(self, services: Collection[str]) -> bool:
        said = self._said()
        return not said or drain_state.taken_up(said, self.whole, services)

    def restore(self) -> None:
        if self.touched:
            self._write(())
            _kept(self.file).unlink(missing_ok=True)

    def _write(self, out: Collection[str]) -> None:
        write_atomically(self.file, drain_state.without(self.whole, out))

    def _said(self) -> str:
        """ "" when the router does not answer."""
        with suppress(TargetError):
            return inside.workers(self.client, self.router)
        return ""


def restore(file: Path) -> None:
    """Makes the list whole where a walk was killed before it could."""
    whole = read_text(_kept(file))
    if whole is None:
        return
    if drain_state.is_part(read_text(file) or "", whole):
        write_atomically(file, whole)
    _kept(file).unlink(missing_ok=True)


def _kept(file: Path) -> Path:
    return file.with_name(file.name + KEPT)
