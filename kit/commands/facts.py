"""`facts`: record what the models' files say."""

from __future__ import annotations

from pathlib import Path

from kit.output.console import Output
from kit.project.load import adapters_of, facts_of, read_project


def run(output: Output, file: Path, out: Path | None) -> int:
    from kit.facts.hub import record

    project = read_project(file)
    output.save(record(facts_of(project), adapters_of(project)), out)
    return 0
