"""The stack that faults are tried on: three models behind the real router, and a client that asks each all the time."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from kit.errors import TargetError
from tests.chaos.steady import Steady, steady
from tests.chaos.table import Row
from tests.fakes.pretend_gpu import wait_for
from tests.support.walks import TINY, Walk, model, walk

if TYPE_CHECKING:
    from docker import DockerClient

TASKS = {"chat": "generate", "embed": "embed", "other": "generate"}
PATIENCE = 60.0  # seconds
SOON = 5.0  # seconds that a stack which is well needs to show it
ENGINE, ROUTER = "monogpu/pretend:1", "monogpu/smg:1.13.0"


def soon(what: Callable[[], object]) -> None:
    """Returns when it is so."""
    wait_for(what, PATIENCE)


@contextmanager
def own_images(client: DockerClient) -> Iterator[tuple[str, str]]:
    """Names of its own for the engine's and the router's image: whoever builds them anew meanwhile would have `up`
    replace what runs, as it should, and every name would be struck."""
    mark = f"chaos-{uuid4().hex[:8]}"
    names = (f"monogpu/pretend:{mark}", f"monogpu/smg:{mark}")
    for image, name in zip((ENGINE, ROUTER), names, strict=True):
        client.images.get(image).tag(name)
    try:
        yield names
    finally:
        for name in names:
            client.images.remove(name, force=True)


@dataclass
class Stack:
    """A running project of three models. `models` are their parts of the manifest."""

    walk: Walk
    client: Steady
    rows: list[Row]
    engine: str
    models: dict[str, str] = field(default_factory=dict)
    said: str = ""

    def worker(self, name: str, *more: str, env: str = "", source: str = TINY, image: str = "") -> str:
        """A model's part of the manifest, of the task that `name` has."""
        task = ("task: embed",) if TASKS.get(name) == "embed" else ()
        return model(name, source, *task, *more, env=env, image=image or self.engine)

    def write(self, **changed: str | None) -> None:
        """The manifest as every test finds it, but for these models; None: without it."""
        parts = {name: self.worker(name) for name in TASKS} | changed
        self.walk.write(*(part for part in parts.values() if part))

    def whole(self) -> None:
        """Brings everything back to how each test finds it: by `up`, or, where that does not do, from nothing."""
        self._let_all_go()
        self.write()
        if self.walk.up("--no-verify").code == 0 and self._well(SOON * 3):
            return
        self.walk.vanish()
        self.walk.up("--no-verify").good()
        soon(lambda: not self.silent())

    def _let_all_go(self) -> None:
        """Nothing is held, hangs, or still works on the project."""
        for process in self.walk.begun:
            if process.poll() is None:
                process.kill()
                process.communicate()
        for held in (self.walk.folder / "card" / "hold").glob("*"):
            held.unlink()
        for name in TASKS:
            with suppress(TargetError):
                self.walk.fault(name, "")

    def _well(self, seconds: float) -> bool:
        with suppress(AssertionError):
            wait_for(lambda: not self.silent(), seconds)
        return not self.silent()

    def up(self) -> None:
        """`up`; what it said is kept."""
        self.said = self.walk.up("--no-verify").good().err

    def silent(self) -> list[str]:
        """Names whose last request was not answered well."""
        return [name for name in TASKS if not (seen := self.client.answers[name]) or not seen[-1].good]

    def answers_again(self, name: str, since: float) -> float:
        """Seconds from `since` to the first good answer behind the last bad one, now that the name answers again."""
        called = time.monotonic()
        soon(lambda: self.client.answers[name][-1].at > called and self.client.answers[name][-1].good)
        return self.client.back(name, since) or 0.0

    def restarted(self, service: str, before: int) -> bool:
        """Whether Docker has started it again since it had been restarted `before` times, and it is healthy."""
        now = self.walk.containers()[service]
        return now.restarts > before and now.health == "healthy"

    def unharmed(self, *struck: str, since: float) -> tuple[int, int]:
        """How many requests to all names but these were sent since then, and how many failed: none may."""
        names = [name for name in TASKS if name not in struck]
        sent = sum(answer.at >= since for name in names for answer in self.client.answers[name])
        failed = self.client.failed(*names, since=since) if names else []
        assert not failed, failed[:3]
        return sent, len(failed)

    def lost(self, name: str, since: float) -> str:
        failed = self.client.failed(name, since=since)
        statuses = sorted({str(answer.status) for _, answer in failed})
        return f"{len(failed)} requests to {name} ({', '.join(statuses)})" if failed else "nothing"

    def strike(self, service: str, fault: str) -> None:
        """Makes a worker end at its next request, which may be so soon that it takes the one who asked with it."""
        with suppress(TargetError):
            self.walk.fault(service, fault)

    def kill(self, service: str) -> None:
        """Kills a container's first process behind Docker's back, as a fault does: `docker kill` would be a stop."""
        os.kill(self.pid(service), signal.SIGKILL)

    def pid(self, service: str) -> int:
        found = self.walk.containers()[service]
        pid: int = self.walk.client.api.inspect_container(found.id)["State"]["Pid"]
        return pid

    def row(self, fault: str, said: str, others: tuple[int, int], lost: str, seconds: float | None = None) -> None:
        self.rows.append(Row(fault, said, others, lost, seconds))


@contextmanager
def running(folder: Path, client: DockerClient, rows: list[Row]) -> Iterator[Stack]:
    """The stack, up and answering."""
    with own_images(client) as (engine, router), walk(folder, client, steady=1.6) as made:
        made.router_image = router
        stack = Stack(made, Steady("", {}), rows, engine)
        stack.write()
        made.up("--no-verify").good()
        with steady(made.port, TASKS) as stack.client:
            soon(lambda: not stack.silent())
            yield stack


def left_behind(walk: Walk) -> list[str]:
    """Drafts and journals that a walk should have cleared away."""
    found = [path for path in walk.folder.rglob("*") if path.name.startswith(".") or path.name.endswith(".kept")]
    return [str(path) for path in found if "card" not in path.parts]
