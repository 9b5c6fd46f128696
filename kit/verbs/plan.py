"""`plan`: the bill."""

from __future__ import annotations

from pathlib import Path

from kit.errors import DoesNotFit
from kit.report.plan_json import misfit_json, plan_json
from kit.verbs.inputs import choose_gpu, planned, read_project
from kit.verbs.output import Output


def run(output: Output, file: Path, gpu: str | None, short: bool) -> int:
    project = read_project(file)
    try:
        made = planned(project, gpu)
    except DoesNotFit as error:
        if not output.as_json:
            raise
        output.json(misfit_json(error, choose_gpu(project, gpu)))
        return error.exit_code
    if output.as_json:
        output.json(plan_json(made))
        return 0
    from kit.report.bill import bill

    console = output.console()
    for part in bill(made, console.width, short):
        console.print(part)
    return 0
