"""Which kinds of test run, and goldens.

pure runs always; `--docker` adds the tests marked docker, `--real` those marked real. A chosen kind that cannot run
fails; nothing skips.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
KINDS = ("docker", "real")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="rewrite the golden files")
    for kind in KINDS:
        parser.addoption(f"--{kind}", action="store_true", help=f"also run the tests marked {kind}")
    parser.addoption("--only-live", action="store_true", help="leave out the pure tests")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    chosen = {kind for kind in KINDS if config.getoption(f"--{kind}")}
    kept: list[pytest.Item] = []
    left: list[pytest.Item] = []
    for item in items:
        kinds = {kind for kind in KINDS if item.get_closest_marker(kind)}
        wanted = kinds <= chosen if kinds else not config.getoption("--only-live")
        (kept if wanted else left).append(item)
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = kept


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[Path, str], None]:
    """`golden(path, text)`: the file says exactly this; `pytest --update` makes it so."""

    def check(path: Path, text: str) -> None:
        if request.config.getoption("--update"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"{path} is missing; pytest --update writes it"
        assert path.read_text(encoding="utf-8") == text, f"{path} differs; pytest --update rewrites it"

    return check
