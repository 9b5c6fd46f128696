"""The stacks of a benchmark, brought up one after another; and the user's own one, as it was, at the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kit import verify
from kit.bench.design import (
    AS_GIVEN,
    StackVariant,
)
from kit.bench.estimate import only_router, workers
from kit.bench.journal import StackStarted
from kit.bench.load_containers import Loaders
from kit.bench.results import Phase
from kit.compose import up
from kit.compose.client import translate_errors
from kit.compose.events import Event, Ready, Started, Watch
from kit.compose.wait import CLOCK, Clock
from kit.errors import Problem, TargetError

if TYPE_CHECKING:
    from docker import DockerClient

CACHES = ("compiled-", "flashinfer", "triton")  # volumes that a cold start has not


@dataclass(frozen=True)
class StackFolders:
    """Where stacks are: the user's folder, and the one in which the others are printed; one project. `bring` brings up
    the user's stack; `write` prints a stand's files into a folder; `verify` asks every name of a folder's stack and
    raises when one does not answer."""

    project: str
    given: Path
    others: Path
    bring: Callable[[], None]
    write: Callable[[StackVariant, Path], None]
    verify: Callable[[Path], None]


class StackRunner:
    """Brings up what must stand. `now` is what stands; None when nothing does, or nothing was asked for yet. `changed`:
    the stack that stood at the beginning is gone."""

    def __init__(
        self,
        client: DockerClient,
        environ: Mapping[str, str],
        place: StackFolders,
        loaders: Loaders,
        watching: Callable[[], AbstractContextManager[Watch]],
        timeout: float,
        clock: Clock = CLOCK,
    ) -> None:
        self.client, self.environ, self.place, self.loaders = client, environ, place, loaders
        self.watching, self.timeout, self.clock = watching, timeout, clock
        self.now: StackVariant | None = None
        self.changed = False

    def stand(self, stand: StackVariant) -> StackStarted | None:
        """Brings it up and verifies it; None when it stands already. Raises TargetError."""
        if self.now is not None and self.now.key == stand.key and not stand.anew:
            return None
        kept = self.now is not None and not self.now.anew and self._is_near(stand)
        if self.now is not None and not kept:
            self.clear()
        began = self.clock.now()
        self._up(stand)
        self.now = stand
        self.place.verify(self._folder(stand))
        return StackStarted(stand.key, self.clock.now() - began, 0 if kept else workers(stand))

    def start(self, stand: StackVariant) -> tuple[float, tuple[Phase, ...]]:
        """From nothing until every name has answered: seconds, and each service's part of them. Where a warm start
        finds no compile caches, a start that is not measured leaves them first."""
        self.clear()
        if stand.cold:
            self._erase()
        self.place.write(stand, self._folder(stand))
        if not stand.cold and self._wants_caches(stand):
            self._up(stand)
            self.clear()
        began, begun, phases = self.clock.now(), dict[str, float](), list[Phase]()

        def watch(event: Event, show: Watch) -> None:
            at = self.clock.now() - began
            if isinstance(event, Started):
                begun[event.service] = at
            if isinstance(event, Ready) and event.service in begun:
                phases.append(Phase(event.service, begun[event.service], at))
            show(event)

        with self.watching() as show:
            up.up(self._folder(stand), self.client, self.environ, lambda event: watch(event, show), self.timeout)
        self.now, ready = stand, self.clock.now() - began
        self.place.verify(self._folder(stand))
        seconds = self.clock.now() - began
        return seconds, (*phases, Phase("verify", ready, seconds))

    def check(self) -> None:
        """Asks what stands for an answer of every name. Raises TargetError."""
        if self.now is not None:
            self.place.verify(self._folder(self.now))

    def key(self) -> str | None:
        """What clients must send at the router of what stands; None without a key. Raises TargetError."""
        if self.now is None:
            return None
        return verify.key_of(up.read(self._folder(self.now), self.environ))

    def clear(self) -> None:
        """Nothing stands; volumes stay."""
        self.changed = True
        self.loaders.leave()
        up.down(self.place.project, self.client)
        self.now = None

    def _is_near(self, stand: StackVariant) -> bool:
        """Whether `up` can go from what stands to this one, with the workers kept."""
        assert self.now is not None
        return self.now.key != AS_GIVEN and stand.key != AS_GIVEN and only_router(self.now, stand)

    def _up(self, stand: StackVariant) -> None:
        if stand.key == AS_GIVEN:
            self.place.bring()
            return
        self.changed = True
        self.place.write(stand, self.place.others)
        with self.watching() as watch:
            up.up(self.place.others, self.client, self.environ, watch, self.timeout)

    def _folder(self, stand: StackVariant) -> Path:
        return self.place.given if stand.key == AS_GIVEN else self.place.others

    def _wants_caches(self, stand: StackVariant) -> bool:
        """Whether the stack keeps compile caches, and there are none."""
        spec = up.read(self._folder(stand), self.environ)
        return any(volume.name.startswith(self._caches) for volume in spec.volumes) and not self._found()

    def _erase(self) -> None:
        """The compile caches are gone: what a first start finds."""
        with translate_errors("the compile caches cannot be erased"):
            for name in self._found():
                self.client.api.remove_volume(name)

    @property
    def _caches(self) -> tuple[str, ...]:
        return tuple(f"{self.place.project}_{cache}" for cache in CACHES)

    def _found(self) -> list[str]:
        with translate_errors("the compile caches cannot be looked for"):
            found = [str(volume["Name"]) for volume in self.client.api.volumes()["Volumes"] or ()]
        return [name for name in found if name.startswith(self._caches)]


def verified(folder: Path, client: DockerClient, environ: Mapping[str, str], patience: float) -> None:
    """Asks every name once. Raises TargetError with what is wrong: a stack that does not answer is not measured."""
    found = verify.run(folder, environ, None, client, patience=patience)
    if not found.ok:
        raise TargetError((Problem("the stack does not answer as it should, so it is not measured"), *found.problems))
