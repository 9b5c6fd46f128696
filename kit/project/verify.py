"""Asks what runs of a project whether it does what was promised.

`check` is what `verify` does, and the last step of `up`.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kit.compose import up
from kit.errors import Problem, TargetError, VerificationError
from kit.output.console import Output
from kit.project.load import read_project

if TYPE_CHECKING:
    from docker import DockerClient

    from kit.verify import Verification


LEAST_PATIENCE = 10.0


def check(output: Output, file: Path, url: str | None) -> tuple[int, dict[str, Any]]:
    """The exit code and the report for programs; a person's is printed here. At another `url` Docker is not asked:
    what runs there may be on another machine. Raises TargetError when nothing runs."""
    from kit import verify

    folder = read_project(file).folder
    client = None if url else up.connect(os.environ)
    patience = _patience(up.project_name(folder, os.environ), client) if client else LEAST_PATIENCE
    with output.progress().status("asking every name"):
        found = verify.run(folder, os.environ, url, client, patience=patience)
    if not output.as_json:
        _print(output, found)
    return 0 if found.ok else VerificationError.exit_code, found.as_json()


def _patience(project: str, client: DockerClient) -> float:
    """Seconds that wrong answers may still turn into right ones: a router that has just started learns its workers one
    by one, an old one knows them. Raises TargetError without a router; a worker that is not there is a finding."""
    from kit.verify import PATIENCE

    running = [one for one in up.status(project, client) if one.state == "running"]
    router = next((one for one in running if one.role == "router"), None)
    if router is None:
        what = f"the router of {project} does not run" if running else f"nothing of {project} runs"
        raise TargetError(Problem(what, "`monogpu-kit up` starts it"))
    age = (datetime.now(UTC) - router.started).total_seconds() if router.started else 0.0
    return max(PATIENCE - age, LEAST_PATIENCE)


def _print(output: Output, found: Verification) -> None:
    from kit.output.verify import report

    console = output.console()
    for part in report(found):
        console.print(part)
