"""`facts`: record what the models' files say."""

from __future__ import annotations

from pathlib import Path

from kit.output.console import Output
from kit.project.files import write_atomically
from kit.project.load import adapters_of, facts_of, read_project


def run(output: Output, file: Path, out: Path | None) -> int:
    from kit.facts.hub import record

    project = read_project(file)
    text = record(facts_of(project), adapters_of(project))
    if out is None:
        output.out.write(text)
        return 0
    write_atomically(out, text)
    output.print(f"wrote {out}")
    return 0
