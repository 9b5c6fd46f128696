"""Stacks that faults are tried on, and the table of what came of them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kit.errors import TargetError
from kit.targets import compose
from tests.chaos.steady import Steady, steady
from tests.chaos.table import Row, lines
from tests.pretend_gpu import wait_for
from tests.walks import TINY, Walk, model, walk

if TYPE_CHECKING:
    from docker import DockerClient

ROWS = pytest.StashKey[list[Row]]()
TASKS = {"chat": "generate", "embed": "embed", "other": "generate"}
PATIENCE = 60.0  # seconds
CHAT, EMBED, OTHER = model("chat"), model("embed", TINY, "task: embed"), model("other")


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Closes with the table."""
    if rows := config.stash.get(ROWS, []):
        terminalreporter.section("faults")
        for line in lines(rows):
            terminalreporter.write_line(line)


@pytest.fixture(scope="module")
def client() -> Iterator[DockerClient]:
    found = compose.connect(os.environ)
    found.images.get("monogpu/pretend:1")
    yield found
    found.close()


def soon(what: Callable[[], object]) -> None:
    """Returns when it is so."""
    wait_for(what, PATIENCE)


@dataclass
class Stack:
    """A running project of three models, and a client that asks each of them all the time."""

    walk: Walk
    client: Steady
    rows: list[Row]
    models: dict[str, str] = field(default_factory=lambda: {"chat": CHAT, "embed": EMBED, "other": OTHER})
    said: str = ""

    def whole(self) -> None:
        """Brings everything back to how each test finds it."""
        self.walk.write(CHAT, EMBED, OTHER)
        self.walk.up("--no-verify").good()
        soon(lambda: not self.silent())

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
    with walk(folder, client) as made:
        made.write(CHAT, EMBED, OTHER)
        made.up("--no-verify").good()
        with steady(made.port, TASKS) as asking:
            stack = Stack(made, asking, rows)
            soon(lambda: not stack.silent())
            yield stack


@pytest.fixture(scope="module")
def rows(request: pytest.FixtureRequest) -> list[Row]:
    return request.config.stash.setdefault(ROWS, [])


@pytest.fixture(scope="module")
def stack(client: DockerClient, tmp_path_factory: pytest.TempPathFactory, rows: list[Row]) -> Iterator[Stack]:
    with running(tmp_path_factory.mktemp("chaos"), client, rows) as made:
        yield made


@pytest.fixture
def now(stack: Stack) -> Callable[[], float]:
    """The moment from which requests count: everything is well."""
    soon(lambda: not stack.silent())
    return time.monotonic


def left_behind(walk: Walk) -> list[str]:
    """Drafts and journals that a walk should have cleared away."""
    found = [path for path in walk.folder.rglob("*") if path.name.startswith(".") or path.name.endswith(".kept")]
    return [str(path) for path in found if "card" not in path.parts]
