"""Which kinds of test run, and goldens.

pure runs always; `--docker` adds the tests marked docker, `--browser` and `--real` those marked so. A chosen kind that
cannot run fails; nothing skips.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.chaos.table import Row, lines, record

# Two busy cores are no reason to fail: a property is about what holds, not about how long one example takes.
settings.register_profile("kit", deadline=None)
settings.load_profile("kit")

KINDS = ("browser", "docker", "chaos", "real")
ROWS = pytest.StashKey[list[Row]]()  # what came of the faults that were tested
NOT_RUN = ("skipped", "xfailed", "xpassed")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="rewrite the golden files")
    for kind in KINDS:
        parser.addoption(f"--{kind}", action="store_true", help=f"also run the tests marked {kind}")
    parser.addoption("--only-live", action="store_true", help="leave out the pure tests")
    words = "fail when a chosen kind has no test, or when a test did not run"
    parser.addoption("--complete", action="store_true", help=words)


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


def kind_of(item: pytest.Item) -> str:
    """The costliest kind that a test belongs to."""
    return next((kind for kind in reversed(KINDS) if item.get_closest_marker(kind)), "pure")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Each report says of which kind its test is: a test may have run in another process."""
    report = yield
    report.kind = kind_of(item)
    return report


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Closes with how many tests of each kind ran and the table of faults, which `--update` records; with --complete,
    that each test ran is demanded."""
    counts, missing = census(terminalreporter, config)
    for kind, outcomes in counts.items():
        terminalreporter.write_line(f"{kind}: {', '.join(f'{n} {what}' for what, n in outcomes.items()) or 'no test'}")
    if rows := config.stash.get(ROWS, []):
        if config.getoption("--update"):
            record(rows)
        terminalreporter.section("faults")
        for line in lines(rows):
            terminalreporter.write_line(line)
    if config.getoption("--complete") and missing:
        terminalreporter.write_line(f"not complete: {'; '.join(missing)}", red=True)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if session.config.getoption("--complete") and reporter and census(reporter, session.config)[1]:
        session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED


def census(reporter: pytest.TerminalReporter, config: pytest.Config) -> tuple[dict[str, dict[str, int]], list[str]]:
    """(kind -> outcome -> how many, what is missing from a complete run)."""
    chosen = ["pure"] * (not config.getoption("--only-live")) + [k for k in KINDS if config.getoption(f"--{k}")]
    counts: dict[str, dict[str, int]] = {kind: {} for kind in chosen}
    for outcome in ("passed", "failed", "error", "skipped", "xfailed", "xpassed"):
        kinds = {report.nodeid: report.kind for report in reporter.stats.get(outcome, ()) if hasattr(report, "kind")}
        for kind in kinds.values():
            counts[kind][outcome] = counts[kind].get(outcome, 0) + 1
    missing = [f"no {kind} test ran" for kind, outcomes in counts.items() if not outcomes.get("passed")]
    missing += [f"{kind}: {n} {what}" for kind, o in counts.items() for what, n in o.items() if what in NOT_RUN]
    return counts, missing


@pytest.fixture(scope="session")
def rows(request: pytest.FixtureRequest) -> list[Row]:
    """The table of faults: a test of one appends what came of it."""
    return request.config.stash.setdefault(ROWS, [])


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
