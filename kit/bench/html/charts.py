"""Bench -> the charts of its report. Pure: everything that is drawn is decided here, and nothing is drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median

from kit.bench.html.chartspecs import (
    BarSegment,
    Chart,
    ChartRow,
    Curves,
    Panel,
    Point,
    Rows,
    Series,
)
from kit.bench.html.memorycharts import memory_charts
from kit.bench.html.numbers import known, number, plain, quantity, unique
from kit.bench.results import Arm, Bench, Comparison, Experiment, Figures, Percentiles, Run

STEEP = 20  # the largest over the smallest, from which on a scale is logarithmic
PERCENTILES = ("p50", "p90", "p99")
LATENCIES = (("ttft", "time to the first token (TTFT)"), ("tpot", "time per further token (TPOT)"))
GOODPUT = "req/s within the SLO"
Getter = Callable[[Figures], float | None]


@dataclass(frozen=True)
class Placed:
    """A chart, and where it belongs: the index of its experiment (None: the memory) and its comparison (None: all)."""

    chart: Chart
    experiment: int | None = None
    comparison: int | None = None


def charts(bench: Bench) -> tuple[Placed, ...]:
    """Every chart of the report in its order. Their names are unique, and fit for files and ids."""
    found = [Placed(chart) for chart in memory_charts(bench)]
    for n, experiment in enumerate(bench.experiments):
        found += [Placed(chart, n, m) for m, chart in _of_experiment(experiment)]
    names = unique((one.chart.name for one in found), "chart")
    return tuple(replace(one, chart=replace(one.chart, name=name)) for one, name in zip(found, names, strict=True))


def _of_experiment(experiment: Experiment) -> Iterator[tuple[int | None, Chart]]:
    """The curves come first, together, as they are read beside each other."""
    curves = [one for one in experiment.comparisons if one.kind == "curve"]
    first = {curve.name: curve for curve in reversed(curves)}  # one for all that was counted in its runs
    names = dict.fromkeys(curve.name for curve in curves)
    made = [*_overviews(experiment.name, curves), *(_latency(experiment.name, first[name]) for name in names)]
    yield from ((None, chart) for chart in made if chart)
    for m, comparison in enumerate(experiment.comparisons):
        if comparison.kind == "arms":
            both = (_bars(experiment.name, comparison), _timeline(experiment.name, comparison))
            yield from ((m, chart) for chart in both if chart)


# ---- curves


def figures_of(run: Run, name: str) -> Figures | None:
    """Those of the model `name`, or of all together; a run of one model alone has that model's."""
    found = run.models.get(name) or run.total
    return found or (next(iter(run.models.values())) if len(run.models) == 1 else None)


def _overviews(section: str, curves: Sequence[Comparison]) -> Iterator[Chart]:
    """All curves of a unit and an axis in one chart; and their goodput, where no curve is about it."""
    places = {name: n for n, name in enumerate(dict.fromkeys(curve.name for curve in curves))}
    for axis, unit in dict.fromkeys((curve.axis, curve.unit) for curve in curves):
        own = [curve for curve in curves if (curve.axis, curve.unit) == (axis, unit)]
        yield from _lines(section, unit, axis, [Series(one.name, places[one.name], _values(one)) for one in own])
    for axis in dict.fromkeys(curve.axis for curve in curves):
        own = [curve for curve in curves if curve.axis == axis]
        if not any(curve.unit == GOODPUT for curve in own):
            found = [Series(one.name, places[one.name], _of_figures(one, lambda one: one.goodput)) for one in own]
            yield from _lines(section, GOODPUT, axis, found)


def _values(curve: Comparison) -> tuple[Point, ...]:
    return tuple(
        Point(x, arm.median, arm.least, arm.most) for x, arm in _placed(curve) if known(arm.median, arm.least, arm.most)
    )


def _of_figures(curve: Comparison, get: Getter) -> tuple[Point, ...]:
    return tuple(
        Point(x, median(values), min(values), max(values))
        for x, arm in _placed(curve)
        if (values := measured(arm, curve.name, get))
    )


def measured(arm: Arm, name: str, get: Getter) -> list[float]:
    """What the arm's runs say, without those that say nothing."""
    return values_of([found for run in arm.runs if (found := figures_of(run, name))], get)


def values_of(figures: Sequence[Figures], get: Getter) -> list[float]:
    return [value for one in figures if (value := get(one)) is not None and known(value)]


def _placed(curve: Comparison) -> list[tuple[float, Arm]]:
    """The arms that have a place and a run, from left to right."""
    found = [(arm.x, arm) for arm in curve.arms if arm.runs and arm.x is not None and known(arm.x)]
    return sorted(found, key=lambda one: one[0])


def _lines(section: str, unit: str, axis: str, lines: Sequence[Series]) -> Iterator[Curves]:
    drawn = tuple(line for line in lines if line.points)
    if drawn:
        yield _curves(f"{section} {unit}", section, f"{unit} over {axis}", axis, (Panel(unit, drawn),))


def _latency(section: str, curve: Comparison) -> Curves | None:
    panels = []
    for key, title in LATENCIES:
        lines = [Series(p, n, _of_figures(curve, percentile(key, p))) for n, p in enumerate(PERCENTILES)]
        drawn = tuple(line for line in lines if line.points)
        values = [point.y for line in drawn for point in line.points]
        if drawn:
            panels.append(Panel(f"{title}, ms", drawn, _steep(values)))
    name, caption = f"{section} {curve.name} latency", f"{curve.name}: latency over {curve.axis}"
    return _curves(name, section, caption, curve.axis, tuple(panels)) if panels else None


def percentile(key: str, p: str) -> Getter:
    """Reads a percentile of a latency, in milliseconds: `percentile("ttft", "p99")`."""

    def get(figures: Figures) -> float | None:
        found: Percentiles | None = getattr(figures, key)
        return None if found is None else float(getattr(found, p))

    return get


def _curves(name: str, section: str, caption: str, axis: str, panels: tuple[Panel, ...]) -> Curves:
    ticks = sorted({point.x for panel in panels for line in panel.series for point in line.points})
    words = "; ".join(_ends(panel, line) for panel in panels for line in panel.series)
    log = ticks[0] > 0 and ticks[-1] / ticks[0] >= 8
    title = f"{section}: {caption}"
    return Curves(name, title, caption, f"{title}. {words}.", axis, tuple(ticks), panels, log)


def _ends(panel: Panel, line: Series) -> str:
    first, last = line.points[0], line.points[-1]
    ends = f"{number(first.y)} at {plain(first.x)}, {number(last.y)} at {plain(last.x)}"
    return f"{line.name}, {panel.title}: {ends}"


def _steep(values: Sequence[float]) -> bool:
    return min(values) > 0 and max(values) / min(values) >= STEEP


# ---- arms


def _bars(section: str, comparison: Comparison) -> Rows | None:
    verdicts = {verdict.arm: verdict.words for verdict in comparison.verdicts}
    rows = tuple(_row(n, arm, verdicts.get(arm.name, ""), comparison.unit) for n, arm in enumerate(comparison.arms))
    if not any(row.parts for row in rows):
        return None
    values = "; ".join(f"{row.name}: {row.value} {row.note}".strip() for row in rows)
    caption = f"{comparison.unit}, {comparison.better} is better"
    title = f"{section}, {comparison.name}: {comparison.condition}"
    words = f"{title}; {caption}. {values}."
    return Rows(f"{section} {comparison.name}", title, caption, words, comparison.unit, rows)


def _row(n: int, arm: Arm, verdict: str, unit: str) -> ChartRow:
    """A bar up to the median, its colour that of the first arm or of the others; none where it is unknown."""
    if not arm.runs or not known(arm.median, arm.least, arm.most):
        return ChartRow(arm.name, quantity(None, unit), verdict)
    runs = tuple(run.value for run in arm.runs if known(run.value))
    bar = BarSegment(arm.name, 0.0, arm.median, min(n, 1))
    return ChartRow(arm.name, quantity(arm.median, unit), verdict, (bar,), runs, (arm.least, arm.most))


def _timeline(section: str, comparison: Comparison) -> Rows | None:
    """A heading for each arm and a row for each of its services, all over the same seconds."""
    starts = [row for arm in comparison.arms for row in _start(arm, comparison.unit)]
    if not starts:
        return None
    values = "; ".join(f"{row.name}: {row.value}" for row in starts if not row.minor)
    places = {name: n for n, name in enumerate(dict.fromkeys(row.name for row in starts if row.minor))}
    rows = tuple(
        replace(row, parts=tuple(replace(part, place=places[part.name]) for part in row.parts)) for row in starts
    )
    name, caption = f"{section} {comparison.name} timeline", "startup timeline"
    title = f"{section}, {comparison.name}: {caption}"
    return Rows(name, title, caption, f"{title}. {values}.", "s", rows)


def _start(arm: Arm, unit: str) -> list[ChartRow]:
    """The run whose value is nearest to the median."""
    runs = [run for run in arm.runs if known(run.value) and _phases(run)]
    if not runs or not known(arm.median):
        return []
    run = min(runs, key=lambda run: abs(run.value - arm.median))
    return [ChartRow(arm.name, quantity(run.value, unit)), *_phases(run)]


def _phases(run: Run) -> list[ChartRow]:
    return [
        ChartRow(
            one.service,
            quantity(one.end - one.begin, "s"),
            parts=(BarSegment(one.service, one.begin, one.end, 0),),
            minor=True,
        )
        for one in run.phases
        if known(one.begin, one.end) and 0 <= one.begin <= one.end
    ]
