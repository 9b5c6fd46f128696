"""`down`: undo `up`."""

from __future__ import annotations

import os
from pathlib import Path

from kit.compose import up
from kit.output.console import Output
from kit.output.progress import Watcher
from kit.project.load import read_project


def run(output: Output, file: Path, volumes: bool) -> int:
    project = read_project(file)
    client = up.connect(os.environ)
    with Watcher(output.progress()) as watch:
        done = up.down(project.manifest.name, client, watch, volumes=volumes)
    if output.as_json:
        output.json({"project": project.manifest.name, "removed": [{"verb": d.verb, "name": d.name} for d in done]})
    elif not done:
        output.print(f"nothing of {project.manifest.name} was there")
    return 0
