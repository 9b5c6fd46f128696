"""`up`: start the stack as printed, and verify it."""

from __future__ import annotations

from pathlib import Path

from kit.compose.up import connect
from kit.output.console import Output
from kit.project import apply
from kit.project.load import read_project


def run(output: Output, file: Path, gpu: str | None, verify: bool, timeout: float, dry_run: bool, prune: bool) -> int:
    project = read_project(file)
    client = connect(output.environ)
    plan = apply.decide(project, client, output.environ, gpu, prune)
    if dry_run:
        output.say(*plan.notes)
        output.show(plan.as_json(), *plan.changes())
        return 0
    report, code = apply.bring_up(output, plan, timeout), 0
    if verify:
        code, report["verification"] = apply.check(output, project, client)
    if output.as_json:
        output.json(report)
    return code
