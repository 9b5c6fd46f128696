"""A running stack for every module of the suite, and the table of what came of its faults."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from kit.compose import up
from tests.chaos.stacks import ENGINE, Stack, running
from tests.chaos.table import Row, lines, record

if TYPE_CHECKING:
    from docker import DockerClient

ROWS = pytest.StashKey[list[Row]]()


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Closes with the table, which `--update` records."""
    if rows := config.stash.get(ROWS, []):
        if config.getoption("--update"):
            record(rows)
        terminalreporter.section("faults")
        for line in lines(rows):
            terminalreporter.write_line(line)


@pytest.fixture(scope="module")
def client() -> Iterator[DockerClient]:
    found = up.connect(os.environ)
    found.images.get(ENGINE)
    yield found
    found.close()


@pytest.fixture(scope="module")
def rows(request: pytest.FixtureRequest) -> list[Row]:
    return request.config.stash.setdefault(ROWS, [])


@pytest.fixture(scope="module")
def stack(client: DockerClient, tmp_path_factory: pytest.TempPathFactory, rows: list[Row]) -> Iterator[Stack]:
    with running(tmp_path_factory.mktemp("chaos"), client, rows) as made:
        yield made


@pytest.fixture
def now(stack: Stack) -> Callable[[], float]:
    """The moment from which requests count. A stack that an earlier test left unwell is fixed first."""
    if stack.silent():
        stack.whole()
    return time.monotonic
