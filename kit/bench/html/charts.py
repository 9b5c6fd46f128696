"""Bench -> the charts of its report. Pure: everything that is drawn is decided here, and nothing is drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median

from kit.bench.html.chartspecs import (
    BarRow,
    Bars,
    Chart,
    Curves,
    Lane,
    Panel,
    Point,
    Series,
    Span,
    Timeline,
)
from kit.bench.html.memorycharts import memory_charts
from kit.bench.html.names import unique
from kit.bench.html.numbers import known, number, plain, quantity
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
    """Those of the curves stand together: they are read beside each other."""
    curves = [one for one in experiment.comparisons if one.kind == "curve"]
    yield from ((None, chart) for chart in _overviews(experiment.name, curves))
    for name in dict.fromkeys(curve.name for curve in curves):  # one for all that was counted in its runs
        curve = next(curve for curve in curves if curve.name == name)
        yield from ((None, chart) for chart in (_latency(experiment.name, curve),) if chart)
    for m, comparison in enumerate(experiment.comparisons):
        if comparison.kind == "arms":
            made = (_bars(experiment.name, comparison), _timeline(experiment.name, comparison))
            yield from ((m, chart) for chart in made if chart)


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
    found = (figures_of(run, name) for run in arm.runs)
    values = (get(one) for one in found if one)
    return [value for value in values if value is not None and known(value)]


def _placed(curve: Comparison) -> list[tuple[float, Arm]]:
    """The arms that have a place and a run, from left to right."""
    found = [(arm.x, arm) for arm in curve.arms if arm.runs and arm.x is not None and known(arm.x)]
    return sorted(found, key=lambda one: one[0])


def _lines(section: str, unit: str, axis: str, lines: Sequence[Series]) -> Iterator[Curves]:
    drawn = tuple(line for line in lines if line.points)
    if drawn:
        yield _curves(f"{section} {unit}", section, f"{unit} over {axis}", axis, (Panel(unit, unit, drawn),))


def _latency(section: str, curve: Comparison) -> Curves | None:
    panels = []
    for key, title in LATENCIES:
        lines = [Series(p, n, _of_figures(curve, percentile(key, p))) for n, p in enumerate(PERCENTILES)]
        drawn = tuple(line for line in lines if line.points)
        values = [point.y for line in drawn for point in line.points]
        if drawn:
            panels.append(Panel(f"{title}, ms", "ms", drawn, _steep(values)))
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
    words = "; ".join(_told(panel, line) for panel in panels for line in panel.series)
    log = ticks[0] > 0 and ticks[-1] / ticks[0] >= 8
    title = f"{section}: {caption}"
    return Curves(name, title, caption, f"{title}. {words}.", axis, tuple(ticks), panels, log)


def _told(panel: Panel, line: Series) -> str:
    first, last = line.points[0], line.points[-1]
    ends = f"{number(first.y)} at {plain(first.x)}, {number(last.y)} at {plain(last.x)}"
    return f"{line.name}, {panel.title}: {ends}"


def _steep(values: Sequence[float]) -> bool:
    return min(values) > 0 and max(values) / min(values) >= STEEP


# ---- arms


def _bars(section: str, comparison: Comparison) -> Bars | None:
    verdicts = {verdict.arm: verdict.words for verdict in comparison.verdicts}
    rows = tuple(_row(arm, verdicts.get(arm.name, "")) for arm in comparison.arms)
    if not any(row.median is not None for row in rows):
        return None
    told = "; ".join(f"{row.name}: {quantity(row.median, comparison.unit)} {row.words}".strip() for row in rows)
    caption = f"{comparison.unit}, {comparison.better} is better"
    title = f"{section}, {comparison.name}: {comparison.condition}"
    words = f"{title}; {caption}. {told}."
    return Bars(f"{section} {comparison.name}", title, caption, words, comparison.unit, rows)


def _row(arm: Arm, words: str) -> BarRow:
    if not arm.runs or not known(arm.median, arm.least, arm.most):
        return BarRow(arm.name, None, None, None, (), words)
    runs = tuple(run.value for run in arm.runs if known(run.value))
    return BarRow(arm.name, arm.median, arm.least, arm.most, runs, words)


def _timeline(section: str, comparison: Comparison) -> Timeline | None:
    lanes = tuple(lane for arm in comparison.arms if (lane := _lane(arm, comparison.unit)))
    if not lanes:
        return None
    told = "; ".join(f"{lane.name}: {lane.words}" for lane in lanes)
    name, caption = f"{section} {comparison.name} timeline", "what started when"
    title = f"{section}, {comparison.name}: {caption}"
    return Timeline(name, title, caption, f"{title}. {told}.", lanes)


def _lane(arm: Arm, unit: str) -> Lane | None:
    """The run in the middle: the one whose value is nearest to the median."""
    runs = [run for run in arm.runs if known(run.value) and any(_spans(run))]
    if not runs or not known(arm.median):
        return None
    run = min(runs, key=lambda run: abs(run.value - arm.median))
    return Lane(arm.name, quantity(run.value, unit), tuple(_spans(run)))


def _spans(run: Run) -> Iterator[Span]:
    for phase in run.phases:
        if known(phase.begin, phase.end) and 0 <= phase.begin <= phase.end:
            yield Span(phase.service, phase.begin, phase.end)
