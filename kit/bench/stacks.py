"""The stacks of a benchmark, started one after another; and the user's own one, as it was, at the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from kit import verify
from kit.bench.design import AS_GIVEN, StackVariant
from kit.bench.estimate import only_router, workers
from kit.bench.journal import StackStarted
from kit.bench.load_containers import Loaders
from kit.bench.results import Phase
from kit.compose import up
from kit.compose.client import translate_errors
from kit.compose.events import Event, Ready, Started, Watch
from kit.compose.spec import ProjectSpec
from kit.compose.wait import CLOCK, Clock
from kit.errors import Problem, TargetError
from kit.manifest.model import Model
from kit.memory.bill import Plan

if TYPE_CHECKING:
    from docker import DockerClient

CACHES = ("compiled-", "flashinfer", "triton")  # volumes that a cold start does not have


@dataclass(frozen=True)
class StackFolders:
    """Where the stacks of one project are: the user's folder `given`, and the folder in which the others are printed.
    `bring_given` brings up the user's stack; `write` prints the files of a variant into a folder; `verify` asks every
    name of a folder's stack and raises when one does not answer."""

    project: str
    given: Path
    others: Path
    bring_given: Callable[[], None]
    write: Callable[[StackVariant, Path], None]
    verify: Callable[[Path], None]

    def of(self, variant: StackVariant) -> Path:
        return self.given if variant.key == AS_GIVEN else self.others


class StackRunner:
    """Starts the variant that a trial needs. `now` is the one that runs; None when none does, or none was needed yet.
    `changed`: the stack that ran in the beginning is gone."""

    def __init__(
        self,
        client: DockerClient,
        environ: Mapping[str, str],
        folders: StackFolders,
        loaders: Loaders,
        watching: Callable[[], AbstractContextManager[Watch]],
        timeout: float,
        clock: Clock = CLOCK,
        read: Callable[[Path, Mapping[str, str]], ProjectSpec] = up.read,
    ) -> None:
        self.client, self.environ, self.folders, self.loaders = client, environ, folders, loaders
        self.watching, self.timeout, self.clock, self.read = watching, timeout, clock, read
        self.now: StackVariant | None = None
        self.changed = False

    def ensure(self, variant: StackVariant) -> StackStarted | None:
        """Start a variant and verify it; None when it runs already. Raises TargetError."""
        if self.now is not None and self.now.key == variant.key and not variant.recreate:
            return None
        kept = self.now is not None and not self.now.recreate and self._is_near(self.now, variant)
        if self.now is not None and not kept:
            self.clear()
        start = self.clock.now()
        self._up(variant)
        self.now = variant
        self.check()
        return StackStarted(variant.key, self.clock.now() - start, 0 if kept else workers(variant))

    def measure_start(self, variant: StackVariant) -> tuple[float, tuple[Phase, ...]]:
        """From nothing until every name has answered: seconds, and each service's part of them. Where a warm start
        finds no compile caches, a start that is not measured fills them first."""
        self.clear()
        folder = self.folders.of(variant)
        if variant.cold:
            self._erase_caches()
        self.folders.write(variant, folder)
        if not variant.cold and self._wants_caches(folder):
            self._up(variant)
            self.clear()
        start, begins, phases = self.clock.now(), dict[str, float](), list[Phase]()

        def watch(event: Event, show: Watch) -> None:
            at = self.clock.now() - start
            if isinstance(event, Started):
                begins[event.service] = at
            if isinstance(event, Ready) and event.service in begins:
                phases.append(Phase(event.service, begins[event.service], at))
            show(event)

        with self.watching() as show:
            up.up(folder, self.client, self._environ(folder), lambda event: watch(event, show), self.timeout)
        self.now, ready = variant, self.clock.now() - start
        self.check()
        seconds = self.clock.now() - start
        return seconds, (*phases, Phase("verify", ready, seconds))

    def check(self) -> None:
        """Ask every name of the running variant for an answer. Raises TargetError."""
        if self.now is not None:
            self.folders.verify(self.folders.of(self.now))

    def key(self) -> str | None:
        """The API key of the running variant's router; None without a key. Raises TargetError."""
        if self.now is None:
            return None
        folder = self.folders.of(self.now)
        return verify.key_of(self.read(folder, self._environ(folder)))

    def clear(self) -> None:
        """Remove the running stack; volumes stay."""
        self.changed = True
        self.loaders.leave()
        up.down(self.folders.project, self.client)
        self.now = None

    def _is_near(self, now: StackVariant, variant: StackVariant) -> bool:
        """Whether `up` can change one into the other and keep the workers."""
        return AS_GIVEN not in (now.key, variant.key) and only_router(now, variant)

    def _up(self, variant: StackVariant) -> None:
        if variant.key == AS_GIVEN:
            self.folders.bring_given()
            return
        self.changed = True
        self.folders.write(variant, self.folders.others)
        with self.watching() as watch:
            up.up(self.folders.others, self.client, printed_alone(self.environ), watch, self.timeout)

    def _environ(self, folder: Path) -> Mapping[str, str]:
        return printed_alone(self.environ) if folder == self.folders.others else self.environ

    def _wants_caches(self, folder: Path) -> bool:
        """Whether the stack keeps compile caches and has none."""
        volumes = self.read(folder, self._environ(folder)).volumes
        return any(volume.name.startswith(self._prefixes) for volume in volumes) and not self._caches()

    def _erase_caches(self) -> None:
        with translate_errors("the compile caches cannot be erased"):
            for name in self._caches():
                self.client.api.remove_volume(name)

    @property
    def _prefixes(self) -> tuple[str, ...]:
        return tuple(f"{self.folders.project}_{cache}" for cache in CACHES)

    def _caches(self) -> list[str]:
        with translate_errors("the compile caches cannot be listed"):
            found = [str(volume["Name"]) for volume in self.client.api.volumes()["Volumes"] or ()]
        return [name for name in found if name.startswith(self._prefixes)]


def printed_alone(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment in which Compose reads what was printed, and no other file."""
    return {**environ, "COMPOSE_FILE": up.FILE}


def verified(folder: Path, client: DockerClient, environ: Mapping[str, str], patience: float) -> None:
    """Ask every name once. Raises TargetError with what is wrong: a stack that does not answer is not measured."""
    found = verify.run(folder, environ, None, client, patience=patience)
    if not found.ok:
        raise TargetError((Problem("the stack does not answer as it should, so it is not measured"), *found.problems))


def with_absolute_paths(plan: Plan, home: Path) -> Plan:
    """The same plan for files that are printed into another folder: paths relative to `home` are made absolute."""

    def absolute(path: str) -> str:
        return str((home / path).resolve()) if path.startswith(".") else path

    def moved(model: Model) -> Model:
        adapters = tuple(adapter.model_copy(update={"source": absolute(adapter.source)}) for adapter in model.adapters)
        volumes = tuple(":".join((absolute(host), *rest)) for host, *rest in (v.split(":") for v in model.volumes))
        return model.model_copy(update={"source": absolute(model.source), "adapters": adapters, "volumes": volumes})

    models = {model.name: moved(model) for model in plan.manifest.models}
    router = plan.manifest.router
    if router.api_key_file and not router.api_key_file.startswith(("/", "~")):
        router = router.model_copy(update={"api_key_file": str((home / router.api_key_file).resolve())})
    manifest = plan.manifest.model_copy(update={"models": tuple(models.values()), "router": router})
    shares = tuple(replace(share, model=models[share.model.name]) for share in plan.shares)
    return replace(plan, manifest=manifest, shares=shares)
