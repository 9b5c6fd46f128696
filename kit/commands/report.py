"""`report`: what a benchmark found, as a page with pictures."""

from __future__ import annotations

from pathlib import Path

from kit.bench.html.charts import charts
from kit.bench.html.draw import png, svg
from kit.bench.html.page import html
from kit.bench.results import BENCH, ResultsError, from_text
from kit.errors import Problem
from kit.files import read_text, write_atomically
from kit.output.console import Output

RUN_IT = "`monogpu-kit bench` writes it; or name the folder that it wrote: monogpu-kit report FOLDER"


def run(output: Output, results: Path, out: Path | None) -> int:
    if results.is_file():
        raise ResultsError(Problem(f"{results} is a file", f"needed: the folder of {BENCH}"))
    text = read_text(results / BENCH)
    if text is None:
        raise ResultsError(Problem(f"{results / BENCH}: no such file", RUN_IT))
    bench = from_text(text, str(results / BENCH))
    drawn = charts(bench)
    page = html(bench, drawn, {one.chart.name: svg(one.chart) for one in drawn})
    target = out or results / "report.html"
    pictures = {target.parent / "pictures" / f"{one.chart.name}.png": png(one.chart) for one in drawn}
    for path, picture in pictures.items():
        write_atomically(path, picture)
    write_atomically(target, page)
    if output.as_json:
        output.json({"report": str(target), "pictures": [str(path) for path in pictures]})
        return 0
    output.print(f"wrote {target}")
    if pictures:
        output.print(f"wrote {len(pictures)} pictures into {target.parent / 'pictures'}")
    return 0
