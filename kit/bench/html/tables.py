"""The numbers behind the charts, as tables. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from kit.bench.html.answers import answers
from kit.bench.html.charts import Getter, figures_of, measured, percentile, values_of
from kit.bench.html.memorycharts import planned
from kit.bench.html.numbers import UNKNOWN, known, number, plain
from kit.bench.results import Arm, Comparison, Figures, MeasuredFootprint, Run
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


def _columns(detailed: bool) -> dict[str, Getter]:
    """Heads of columns, and what stands below them."""
    latencies = [(key, p) for key in ("ttft", "tpot") for p in (("p50", "p90", "p99") if detailed else ("p50", "p99"))]
    return {
        "tok/s": lambda one: one.tokens,
        "req/s": lambda one: one.requests,
        "goodput, req/s": lambda one: one.goodput,
        **{f"{key.upper()} {p}, ms": percentile(key, p) for key, p in latencies},
        "failed": lambda one: float(one.failed),
    }


def arms_table(comparison: Comparison) -> Table:
    """A row for each arm: its value with its spread, and its verdict; on a curve also what else its runs say."""
    columns = {
        head: get
        for head, get in _columns(True).items()
        if comparison.kind == "curve" and head != comparison.unit
        if any(measured(arm, comparison.name, get) for arm in comparison.arms)
    }
    verdicts = {verdict.arm: said for verdict, said in zip(comparison.verdicts, answers(comparison), strict=True)}
    rows = []
    for n, arm in enumerate(comparison.arms):  # the first is what the others are measured by
        values = (arm.median, arm.least, arm.most) if arm.runs else (None, None, None)
        cells = [Cell(plain(arm.x) if comparison.kind == "curve" and known(arm.x) else arm.name)]
        cells += [*(Cell(number(value)) for value in values), Cell(str(len(arm.runs)))]
        cells += [Cell(_median(measured(arm, comparison.name, get))) for get in columns.values()]
        if verdicts:
            said = verdicts.get(arm.name)
            cells.append(Cell(said.spread, said.strong, said.finding) if said else Cell(UNKNOWN if n else "baseline"))
        rows.append(tuple(cells))
    unit = f"median,\N{NO-BREAK SPACE}{comparison.unit}"
    heads = (comparison.axis or "arm", unit, "least", "most", "runs", *columns)
    caption = f"{comparison.name}: {comparison.condition}"
    return Table(caption, (*heads, *(["verdict"] if verdicts else [])), tuple(rows), 1 if verdicts else 0)


def figures_table(comparison: Comparison) -> Table | None:
    """What else the runs of each arm say, as medians; of several models at once also for each of them."""
    rows = [(name, found) for arm in comparison.arms for name, found in _figures(arm, comparison) if found]
    columns = {head: get for head, get in _columns(False).items() if any(values_of(found, get) for _, found in rows)}
    if not columns:
        return None
    cells = tuple(
        (Cell(name), *(Cell(_median(values_of(found, get))) for get in columns.values())) for name, found in rows
    )
    return Table("Other measurements, medians", ("arm", *columns), cells)


def _figures(arm: Arm, comparison: Comparison) -> Iterator[tuple[str, list[Figures]]]:
    models = dict.fromkeys(name for run in arm.runs for name in run.models)
    if comparison.kind == "arms":  # a curve's own table has it
        yield arm.name, [found for run in arm.runs if (found := figures_of(run, comparison.name))]
    if len(models) > 1 and comparison.name not in models:
        for model in models:
            yield f"{arm.name}, {model}", [run.models[model] for run in arm.runs if model in run.models]


def _median(values: Sequence[float]) -> str:
    return number(median(values)) if values else UNKNOWN


def runs_table(comparison: Comparison) -> Table:
    """Every run, as it was measured."""
    heads = ("run", "arm", "round", comparison.unit, "duration, s", "completed", "failed", "files")
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
    rows.append(
        (Cell("measured"), *(Cell(size(one.measured) if one.measured is not None else UNKNOWN) for one in memory))
    )
    rows.append((Cell("planned / measured"), *(Cell(_over(one)) for one in memory)))
    return Table(
        "Planned (the bill) and measured (by the driver)", ("term", *(one.service for one in memory)), tuple(rows)
    )


def _line(footprint: MeasuredFootprint, term: str) -> str:
    counts = [count for what, count in footprint.lines if what == term]
    return size(sum(counts)) if counts else "none"


def _over(footprint: MeasuredFootprint) -> str:
    return f"{planned(footprint) / footprint.measured - 1:+.1%}" if footprint.measured else UNKNOWN
