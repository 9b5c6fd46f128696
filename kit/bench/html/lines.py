"""How curves look. What they say was decided before."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import TYPE_CHECKING

from kit.bench.html.chartspecs import Curves, Panel
from kit.bench.html.numbers import plain
from kit.bench.html.palette import Palette
from kit.bench.html.sheet import (
    DASHES,
    EDGE,
    LINE,
    MARKERS,
    SMALL,
    WIDTH,
    Sheet,
    legend,
    said_short,
    sheet,
    steps,
    width,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEFT, RIGHT = 46.0, 14.0  # beside the axes: numbers, and half of the last marker
ALONE, SEVERAL = 200.0, 136.0  # how high a panel is
HEAD, FOOT = 24.0, 28.0  # above a panel its unit, below it the axis
KEY = 24.0


def curves(chart: Curves, palette: Palette, title: str) -> Sheet:
    places = {line.name: line.place for panel in chart.panels for line in panel.series}
    rows = legend(tuple(places), KEY + 6) if len(places) > 1 else []
    high = ALONE if len(chart.panels) == 1 else SEVERAL
    top = LINE * len(rows) + (8 if rows else 0)
    end = top + len(chart.panels) * (HEAD + high + FOOT)
    paper = sheet(end + 18, palette, title)
    for n, row in enumerate(rows):
        for x, index, name in row:
            _key(paper, EDGE + x, LINE * n + 9, tuple(places.values())[index], name)
    for n, panel in enumerate(chart.panels):
        _panel(paper, top + n * (HEAD + high + FOOT), high, chart, panel)
    paper.text((LEFT + WIDTH - RIGHT) / 2, end + 6, chart.axis, size=SMALL, color=palette.muted, ha="center")
    return paper


def _key(paper: Sheet, x: float, top: float, place: int, name: str) -> None:
    axes = paper.axes(x, top - 8, KEY, 16)
    axes.set_axis_off()
    axes.set_ylim(-1, 1)
    _line(paper, axes, place, (0, 1, 2), (0, 0, 0), (1,))
    paper.text(x + KEY + 6, top, name, size=SMALL)


def _line(
    paper: Sheet, axes: Axes, place: int, x: Sequence[float], y: Sequence[float], marked: Sequence[int] | None = None
) -> None:
    axes.plot(
        x,
        y,
        color=paper.colour(place),
        linestyle=DASHES[place % len(DASHES)],
        linewidth=1.8,
        marker=MARKERS[place % len(MARKERS)],
        markersize=6.2,
        markeredgecolor=paper.palette.background,
        markeredgewidth=0.8,
        markevery=None if marked is None else list(marked),
        clip_on=False,
    )


def _panel(paper: Sheet, top: float, high: float, chart: Curves, panel: Panel) -> None:
    paper.text(EDGE, top + 9, panel.title, size=SMALL, color=paper.palette.muted)
    axes = paper.axes(LEFT, top + HEAD, WIDTH - LEFT - RIGHT, high)
    if chart.log:
        axes.set_xscale("log", base=2)
    if panel.log:
        axes.set_yscale("log")
    for line in panel.series:
        x = [point.x for point in line.points]
        spread = [point.least for point in line.points], [point.most for point in line.points]
        axes.fill_between(x, *spread, color=paper.colour(line.place), alpha=0.16, linewidth=0)
        _line(paper, axes, line.place, x, [point.y for point in line.points])
    _across(axes, panel)
    _along(axes, chart)
    axes.grid(axis="y", color=paper.palette.line, linewidth=0.8)
    axes.spines["bottom"].set_visible(True)
    axes.spines["bottom"].set_color(paper.palette.muted)
    axes.tick_params(axis="x", length=4, color=paper.palette.muted)


def _across(axes: Axes, panel: Panel) -> None:
    """The scale of what was measured: from zero, or round numbers of a logarithmic one."""
    if panel.log:
        low, high = axes.get_ylim()
        round_ones = [10.0**n * m for n in range(-9, 13) for m in (1, 2, 5)]
        ticks = [tick for tick in round_ones if low <= tick <= high]
        ticks = ticks if len(ticks) <= 6 else ticks[:: len(ticks) // 5]
    else:
        most = 1.05 * max(point.most for line in panel.series for point in line.points) or 1.0
        ticks = steps(most)
        axes.set_ylim(0, most)
    axes.set_yticks(ticks, said_short(ticks))
    axes.set_yticks([], minor=True)


def _along(axes: Axes, chart: Curves) -> None:
    """The scale of what was varied: a tick for every place that was measured."""
    axes.set_xticks(list(chart.ticks), _labels(chart))
    axes.set_xticks([], minor=True)
    if len(chart.ticks) == 1:
        only = chart.ticks[0]
        axes.set_xlim(only / 2 if only else -1, only * 2 or 1)


def _labels(chart: Curves) -> list[str]:
    """The ticks' words, without those that would touch the one before."""
    places = [log(tick) for tick in chart.ticks] if chart.log else list(chart.ticks)
    room = (WIDTH - LEFT - RIGHT) / ((places[-1] - places[0]) or 1)
    labels: list[str] = []
    end = float("-inf")
    for tick, place in zip(chart.ticks, places, strict=True):
        said = plain(tick)
        middle, half = (place - places[0]) * room, width(said, SMALL) / 2
        shown = middle - half > end + 6
        labels.append(said if shown else "")
        end = middle + half if shown else end
    return labels
