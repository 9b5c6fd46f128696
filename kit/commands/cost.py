"""`cost`: what the manifest's models cost by the hour, in every way that serves them."""

from __future__ import annotations

from pathlib import Path

from kit.errors import KitError
from kit.output.console import Output
from kit.output.cost import cost_json, report
from kit.planner.cost import cost
from kit.project.load import choose_gpu, gather, located, read_project


def run(output: Output, file: Path, gpu: str | None, price: float) -> int:
    project = read_project(file)
    card = choose_gpu(project, gpu)
    try:
        found = cost(gather(project, card), price)
    except KitError as error:
        raise located(error, project.document) from None
    if output.as_json:
        output.json(cost_json(found, card))
    else:
        output.draw(report(found, card))
    return 0
