"""The command line as it is typed, in this process."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from kit.cli import app
from tests.support.paths import ROOT

EXAMPLES = sorted(file.parent for file in (ROOT / "compose").glob("*/monogpu.yaml"))


@dataclass(frozen=True)
class Typed:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    def good(self) -> Typed:
        assert self.code == 0, f"exit {self.code}\n{self.out}\n{self.err}"
        return self


def kit(*words: str | Path, at: Path | None = None) -> Typed:
    """`monogpu-kit WORDS`, typed in the folder `at`."""
    with contextlib.chdir(at or Path.cwd()), _wide():
        done = CliRunner().invoke(app, [str(word) for word in words])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Typed(done.exit_code, done.stdout, done.stderr)


@contextlib.contextmanager
def _wide() -> Iterator[None]:
    """Whatever terminal the tests run in, lines are this long."""
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "120"
    try:
        yield
    finally:
        os.environ.pop("COLUMNS")
        if before is not None:
            os.environ["COLUMNS"] = before
