"""`verify`: ask what runs whether it does what was promised."""

from __future__ import annotations

from pathlib import Path

from kit.compose.up import connect
from kit.output.console import Output
from kit.project.apply import check
from kit.project.load import read_project


def run(output: Output, file: Path, url: str | None) -> int:
    project = read_project(file)
    code, report = check(output, project, None if url else connect(output.environ), url)
    if output.as_json:
        output.json(report)
    return code
