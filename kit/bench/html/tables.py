"""The numbers behind the charts, as tables. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from kit.bench.html.answers import answers
from kit.bench.html.charts import Getter, figures_of, measured, percentile
from kit.bench.html.memorycharts import planned
from kit.bench.html.numbers import UNKNOWN, known, number, plain
from kit.bench.results import (
    Arm,
    Comparison,
    Figures,
    MeasuredFootprint,
    Run,
)
from kit.units import size


@dataclass(frozen=True)
class Cell:
    """Text, and in front of it, as a badge, the `strong` word of a verdict, in the colour of its finding."""

    text: str
    strong: str = ""
    finding: str = ""


@dataclass(frozen=True)
class Table:
    """The first cell of a row names it. `words` is how many of the last columns hold words; the others are numbers."""

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    words: int = 0


@dataclass(frozen=True)
class Column:
    head: str
    get: Getter


def _columns(detailed: bool) -> tuple[Column, ...]:
    latencies = [(key, p) for key in ("ttft", "tpot") for p in (("p50", "p90", "p99") if detailed else ("p50", "p99"))]
    return (
        Column("tok/s", lambda one: one.tokens),
        Column("req/s", lambda one: one.requests),
        Column("goodput, req/s", lambda one: one.goodput),
        *(Column(f"{key.upper()} {p}, ms", percentile(key, p)) for key, p in latencies),
        Column("failed", lambda one: float(one.failed)),
    )


def arms_table(comparison: Comparison) -> Table:
    """A row for each arm: its value with its spread, and its verdict; on a curve also what else its runs say."""
    columns = _of_curve(comparison) if comparison.kind == "curve" else []
    verdicts = {verdict.arm: said for verdict, said in zip(comparison.verdicts, answers(comparison), strict=True)}
    rows = []
    for n, arm in enumerate(comparison.arms):  # the first is what the others are measured by
        cells = [_name(arm, comparison), *_value(arm)]
        cells += [Cell(_median(measured(arm, comparison.name, one.get))) for one in columns]
        if verdicts:
            said = verdicts.get(arm.name)
            cells.append(Cell(said.spread, said.strong, said.finding) if said else Cell(UNKNOWN if n else "baseline"))
        rows.append(tuple(cells))
    unit = f"median,\N{NO-BREAK SPACE}{comparison.unit}"
    heads = (comparison.axis or "arm", unit, "least", "most", "runs", *(one.head for one in columns))
    caption = f"{comparison.name}: {comparison.condition}"
    return Table(caption, (*heads, *(["verdict"] if verdicts else [])), tuple(rows), 1 if verdicts else 0)


def _of_curve(comparison: Comparison) -> list[Column]:
    """What its runs say, without what the curve itself is about."""
    others = [one for one in _columns(True) if one.head != comparison.unit]
    return [one for one in others if any(measured(arm, comparison.name, one.get) for arm in comparison.arms)]


def _name(arm: Arm, comparison: Comparison) -> Cell:
    return Cell(plain(arm.x) if comparison.kind == "curve" and known(arm.x) else arm.name)


def _value(arm: Arm) -> list[Cell]:
    values = (arm.median, arm.least, arm.most) if arm.runs else (None, None, None)
    return [*(Cell(number(value)) for value in values), Cell(str(len(arm.runs)))]


def figures_table(comparison: Comparison) -> Table | None:
    """What else the runs of each arm say, as medians; where several models were asked at once, also of each of them."""
    rows = [(name, found) for arm in comparison.arms for name, found in _said(arm, comparison) if found]
    columns = [one for one in _columns(False) if any(_got(found, one) for _, found in rows)]
    if not columns:
        return None
    cells = tuple((Cell(name), *(Cell(_median(_got(found, one))) for one in columns)) for name, found in rows)
    return Table("What else was measured, medians", ("arm", *(one.head for one in columns)), cells)


def _said(arm: Arm, comparison: Comparison) -> Iterator[tuple[str, list[Figures]]]:
    models = dict.fromkeys(name for run in arm.runs for name in run.models)
    if comparison.kind == "arms":  # a curve's own table has it
        yield arm.name, [found for run in arm.runs if (found := figures_of(run, comparison.name))]
    if len(models) > 1 and comparison.name not in models:
        for model in models:
            yield f"{arm.name}, {model}", [run.models[model] for run in arm.runs if model in run.models]


def _got(found: Sequence[Figures], column: Column) -> list[float]:
    values = (column.get(one) for one in found)
    return [value for value in values if value is not None and known(value)]


def _median(values: Sequence[float]) -> str:
    return number(median(values)) if values else UNKNOWN


def runs_table(comparison: Comparison) -> Table:
    """Every run, as it was measured."""
    heads = ("run", "arm", "round", comparison.unit, "took, s", "answered", "failed", "files")
    rows = tuple(_run(run, arm) for arm in comparison.arms for run in arm.runs)
    return Table("Every run", heads, rows, 1)


def _run(run: Run, arm: Arm) -> tuple[Cell, ...]:
    asked = [run.total] if run.total else list(run.models.values())
    counts = (sum(one.completed for one in asked), sum(one.failed for one in asked)) if asked else (None, None)
    texts = (run.key, arm.name, str(run.round), number(run.value), number(run.seconds), *map(plain, counts))
    return (*map(Cell, texts), Cell(", ".join(run.raw) or "none"))


def memory_table(memory: Sequence[MeasuredFootprint]) -> Table:
    """A column for each worker, a row for each line of its bill, then the sums."""
    terms = dict.fromkeys(what for one in memory for what, _ in one.lines)
    rows = [(Cell(term), *(Cell(_line(one, term)) for one in memory)) for term in terms]
    rows.append((Cell("planned"), *(Cell(size(planned(one))) for one in memory)))
    rows.append((Cell("held"), *(Cell(size(one.measured) if one.measured is not None else UNKNOWN) for one in memory)))
    rows.append((Cell("planned over held"), *(Cell(_over(one)) for one in memory)))
    return Table("The bill, and what the driver showed", ("what", *(one.service for one in memory)), tuple(rows))


def _line(footprint: MeasuredFootprint, term: str) -> str:
    counts = [count for what, count in footprint.lines if what == term]
    return size(sum(counts)) if counts else "none"


def _over(footprint: MeasuredFootprint) -> str:
    return f"{planned(footprint) / footprint.measured - 1:+.1%}" if footprint.measured else UNKNOWN
