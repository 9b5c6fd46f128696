"""`down`: undo `up`."""

from __future__ import annotations

from pathlib import Path

from kit.compose import up
from kit.output.console import Output
from kit.output.progress import Watcher
from kit.project.load import read_project


def run(output: Output, file: Path, volumes: bool) -> int:
    name = read_project(file).manifest.name
    client = up.connect(output.environ)
    with Watcher(output.progress()) as watch:
        done = up.down(name, client, watch, volumes=volumes)
    removed = [{"verb": one.verb, "name": one.name} for one in done]
    output.show({"project": name, "removed": removed}, *(() if done else (f"nothing of {name} is there",)))
    return 0
