"""`logs`: what a service logged, and what that means when it failed."""

from __future__ import annotations

from pathlib import Path

from kit.compose import up
from kit.output.console import Output
from kit.project.load import read_project
from kit.status.collect import why


def run(output: Output, name: str, file: Path, follow: bool, tail: int) -> int:
    project = read_project(file).manifest.name
    client = up.connect(output.environ)
    for line in up.logs(project, client, name, follow=follow, tail=tail):
        output.print(line)
    found = None if follow else why(client, project, name)
    if found:
        output.say("", f"{name}: {found.cause}; {found.fix}")
    return 0
