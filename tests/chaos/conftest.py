"""A running stack for every module of the suite."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from kit.compose import up
from tests.chaos.stacks import ENGINE, Stack, running
from tests.chaos.table import Row

if TYPE_CHECKING:
    from docker import DockerClient


@pytest.fixture(scope="module")
def client() -> Iterator[DockerClient]:
    found = up.connect(os.environ)
    found.images.get(ENGINE)
    yield found
    found.close()


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
