"""The CPU example, started once: what its commands print is looked at, and it is broken on purpose."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.cardengine import card_engine
from tests.support.realwalk import example
from tests.support.walks import Said, Walk

INTERVAL = 2.0  # seconds between two looks at a container's health: a worker that hangs is known within a minute


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walk]:
    """The example under another name and port, so that a demo that runs is left alone."""
    # A socket's path is short: the folder of a test may be too deep.
    with (
        example("cpu-demo", tmp_path_factory.mktemp("real")) as made,
        card_engine(Path("/tmp") / f"{made.name}.sock", INTERVAL, INTERVAL) as made.host,
    ):
        yield made


@pytest.fixture(scope="session")
def first(demo: Walk) -> Said:
    """The first `up`: everything is new."""
    return demo.kit("up")
