"""`plan`: the bill."""

from __future__ import annotations

from pathlib import Path

from kit.errors import DoesNotFit
from kit.output.console import Output
from kit.output.plan_json import misfit_json, plan_json
from kit.project.load import card_for_plan, planned_for, read_project


def run(output: Output, file: Path, gpu: str | None, short: bool) -> int:
    project = read_project(file)
    card = card_for_plan(project, gpu, output.environ)
    try:
        made = planned_for(project, card)
    except DoesNotFit as error:
        if not output.as_json:
            raise
        output.json(misfit_json(error, card))
        return error.exit_code
    if output.as_json:
        output.json(plan_json(made))
        return 0
    from kit.output.plan import bill

    output.draw(bill(made, output.console().width, short))
    return 0
