"""`verify`: ask what runs whether it does what was promised."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kit.errors import Problem, TargetError, VerificationError
from kit.targets import compose
from kit.verbs.inputs import read_project
from kit.verbs.output import Output

if TYPE_CHECKING:
    from docker import DockerClient

    from kit.verify import Verification


def run(output: Output, file: Path, url: str | None) -> int:
    code, report = check(output, file, url)
    if output.as_json:
        output.json(report)
    return code


def check(output: Output, file: Path, url: str | None) -> tuple[int, dict[str, Any]]:
    """The exit code and the report for programs; a person's is printed here. At another `url` Docker is not asked:
    what runs there may be on another machine. Raises TargetError when nothing runs."""
    from kit import verify

    folder = read_project(file).folder
    client = None if url else compose.connect(os.environ)
    if client:
        _refuse_stopped(compose.project_name(folder, os.environ), client)
    with output.progress().status("asking every name"):
        found = verify.run(folder, os.environ, url, client)
    if not output.as_json:
        _print(output, found)
    return 0 if found.ok else VerificationError.exit_code, found.as_json()


def _refuse_stopped(project: str, client: DockerClient) -> None:
    """A router that is not there would be waited for; a worker that is not there is a finding."""
    running = [one for one in compose.status(project, client) if one.state == "running"]
    if not any(one.role == "router" for one in running):
        what = f"the router of {project} does not run" if running else f"nothing of {project} runs"
        raise TargetError(Problem(what, "`monogpu-kit up` starts it"))


def _print(output: Output, found: Verification) -> None:
    from kit.report.checks import report

    console = output.console()
    for part in report(found):
        console.print(part)
