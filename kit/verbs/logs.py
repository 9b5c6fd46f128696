"""`logs`: what a service said."""

from __future__ import annotations

import os
from pathlib import Path

from kit.targets import compose
from kit.verbs.inputs import read_project
from kit.verbs.output import Output


def run(output: Output, file: Path, name: str, follow: bool, tail: int) -> int:
    project = read_project(file)
    client = compose.connect(os.environ)
    for line in compose.logs(project.manifest.name, client, name, follow=follow, tail=tail):
        output.print(line)
    return 0
