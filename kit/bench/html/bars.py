"""How bars, timelines and stacks look: rows with their words above them, one scale at the bottom. What they say was
decided before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kit.bench.html.chartspecs import (
    BarRow,
    Bars,
    Lane,
    Pile,
    Segment,
    Span,
    StackedBars,
    Timeline,
)
from kit.bench.html.numbers import quantity
from kit.bench.html.palette import Palette
from kit.bench.html.sheet import (
    EDGE,
    HATCHES,
    LINE,
    SMALL,
    WIDTH,
    Sheet,
    clipped,
    legend,
    said_short,
    sheet,
    steps,
    width,
)
from kit.errors import printable
from kit.units import GIB

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INNER = WIDTH - 2 * EDGE
ROW, WORDS = 46.0, 18.0  # how high an arm is, and what there is to say below it
LANE, SPAN = 26.0, 28.0  # the name of a start, one of its services
PILE = 54.0
SCALE = 30.0  # below the rows
SWATCH = 18.0
BOLD = 1.1  # times as wide
GAP = 12.0  # between a name and what is said of it


def _axes(paper: Sheet, top: float, high: float, most: float, unit: str) -> Axes:
    """Over the whole width, a pixel a unit downwards, 0 to `most` to the right; its scale is named at the right."""
    axes = paper.axes(EDGE, top, INNER, high)
    axes.set_ylim(high, 0)
    axes.set_xlim(0, most)
    axes.set_yticks([])
    ticks = steps(most)
    axes.set_xticks(ticks, [f"{said_short(ticks)[0]} {printable(unit)}", *said_short(ticks)[1:]])
    axes.xaxis.get_ticklabels()[0].set_horizontalalignment("left")
    return axes


def _rule(paper: Sheet, axes: Axes, middle: float, high: float) -> None:
    """The scale's lines behind a bar, and not behind its words."""
    axes.vlines(
        axes.get_xticks(), middle - high / 2, middle + high / 2, color=paper.palette.line, linewidth=0.8, zorder=0
    )


def _head(paper: Sheet, top: float, name: str, said: str) -> None:
    """A row's name at the left and what there is to say of it at the right."""
    shown = clipped(said, INNER - min(BOLD * width(name), 0.3 * INNER) - GAP, SMALL)
    paper.text(EDGE, top, clipped(name, INNER - width(shown, SMALL) - GAP), weight="bold")
    paper.text(WIDTH - EDGE, top, shown, size=SMALL, ha="right")


# ---- arms


def bars(chart: Bars, palette: Palette, title: str) -> Sheet:
    highs = [ROW + (WORDS if row.words else 0) for row in chart.rows]
    paper = sheet(sum(highs) + SCALE, palette, title)
    most = max((value for row in chart.rows for value in (row.most or 0, *row.runs)), default=0)
    axes = _axes(paper, 0, sum(highs), 1.04 * most or 1.0, chart.unit)
    for n, row in enumerate(chart.rows):
        _row(paper, axes, sum(highs[:n]), row, chart.unit, n)
    return paper


def _row(paper: Sheet, axes: Axes, top: float, row: BarRow, unit: str, place: int) -> None:
    """A bar up to the median, the spread as a line with ends, a dot for every run."""
    _head(paper, top + 10, row.name, quantity(row.median, unit))
    paper.text(EDGE, top + 49, clipped(row.words, INNER, SMALL), size=SMALL, color=paper.palette.muted)
    if row.median is None or row.least is None or row.most is None:
        return
    colour, ink, middle = paper.colour(min(place, 1)), paper.palette.ink, top + 29
    _rule(paper, axes, middle, 24)
    axes.barh(middle, row.median, height=18, color=colour, alpha=0.35, linewidth=0)
    axes.plot([row.median] * 2, [middle - 9, middle + 9], color=colour, linewidth=2.5, solid_capstyle="butt")
    axes.plot([row.least, row.most], [middle] * 2, color=ink, linewidth=1.2, marker="|", markersize=7)
    axes.plot(row.runs, [middle] * len(row.runs), "o", color=colour, markersize=5, markeredgecolor=ink, clip_on=False)


# ---- starts


def timeline(chart: Timeline, palette: Palette, title: str) -> Sheet:
    high = sum(LANE + SPAN * len(lane.spans) + 8 for lane in chart.lanes)
    paper = sheet(high + SCALE, palette, title)
    most = max(span.end for lane in chart.lanes for span in lane.spans)
    axes = _axes(paper, 0, high, 1.02 * most or 1.0, "s")
    places = {span.name: n for n, span in reversed([*enumerate(s for lane in chart.lanes for s in lane.spans)])}
    order = {name: n for n, name in enumerate(sorted(places, key=lambda name: places[name]))}
    top = 0.0
    for lane in chart.lanes:
        _lane(paper, axes, top, lane, order)
        top += LANE + SPAN * len(lane.spans) + 8
    return paper


def _lane(paper: Sheet, axes: Axes, top: float, lane: Lane, order: dict[str, int]) -> None:
    _head(paper, top + 10, lane.name, lane.words)
    for n, span in enumerate(lane.spans):
        _span(paper, axes, top + LANE + SPAN * n, span, order[span.name])


def _span(paper: Sheet, axes: Axes, top: float, span: Span, place: int) -> None:
    """The service's name and seconds begin where its bar does, as far as there is room to the right."""
    said = f"{clipped(span.name, INNER / 2, SMALL)}, {quantity(span.end - span.begin, 's')}"
    whole = axes.get_xlim()[1]
    at = min(EDGE + INNER * span.begin / whole, WIDTH - EDGE - width(said, SMALL))
    paper.text(max(at, EDGE), top + 6, said, size=SMALL, color=paper.palette.muted)
    _rule(paper, axes, top + 18, 14)
    _block(paper, axes, top + 18, 9, span.begin, span.end - span.begin, place)


# ---- memory


def stack(chart: StackedBars, palette: Palette, title: str) -> Sheet:
    left = any(part.place is None for pile in chart.piles for part in pile.parts)
    names = [*chart.legend, *(["left"] if left else []), *([chart.marked] if chart.marked else [])]
    rows = legend(names, SWATCH)
    top = LINE * len(rows) + 10
    high = PILE * len(chart.piles)
    paper = sheet(top + high + SCALE, palette, title)
    for n, row in enumerate(rows):
        for x, index, name in row:
            _swatch(paper, EDGE + x, LINE * n + 9, index if index < len(chart.legend) else None, name, chart.marked)
    most = max(max(sum(part.bytes for part in pile.parts), pile.mark or 0) for pile in chart.piles) / GIB
    axes = _axes(paper, top, high, max(1.03 * most, 1.02 * (chart.total or 0) / GIB), "GiB")
    for n, pile in enumerate(chart.piles):
        _pile(paper, axes, PILE * n, top, pile)
        if chart.total:
            axes.plot([chart.total / GIB] * 2, [PILE * n + 20, PILE * n + 44], color=palette.ink, linewidth=2)
    return paper


def _pile(paper: Sheet, axes: Axes, top: float, above: float, pile: Pile) -> None:
    _head(paper, above + top + 10, pile.name, pile.words)
    _rule(paper, axes, top + 32, 26)
    begin = 0.0
    for part in pile.parts:
        _part(paper, axes, top + 32, 20, begin, part)
        begin += part.bytes / GIB
    if pile.mark:
        _mark(paper, axes, pile.mark / GIB, top + 32)


def _part(paper: Sheet, axes: Axes, middle: float, high: float, begin: float, part: Segment) -> None:
    if part.place is None:
        style: dict[str, Any] = {"facecolor": "none", "edgecolor": paper.palette.muted, "linestyle": (0, (3, 2))}
        axes.barh(middle, part.bytes / GIB, left=begin, height=high, linewidth=1, **style)
        return
    _block(paper, axes, middle, high, begin, part.bytes / GIB, part.place)


def _block(paper: Sheet, axes: Axes, middle: float, high: float, begin: float, long: float, place: int) -> None:
    """A piece of a bar: colour and hatching both tell what it is."""
    axes.barh(
        middle,
        long,
        left=begin,
        height=high,
        facecolor=paper.colour(place),
        edgecolor=paper.palette.background,
        hatch=HATCHES[place % len(HATCHES)],
        linewidth=0.8,
    )


def _mark(paper: Sheet, axes: Axes, x: float, middle: float) -> None:
    style: dict[str, Any] = {"color": paper.palette.ink, "clip_on": False}
    axes.plot([x, x], [middle - 13, middle + 13], linewidth=1.6, solid_capstyle="butt", **style)
    axes.plot([x], [middle - 13], marker="v", markersize=6, **style)


def _swatch(paper: Sheet, x: float, top: float, place: int | None, name: str, marked: str) -> None:
    axes = paper.axes(x, top - 6, 12, 12)
    axes.set_axis_off()
    axes.set_xlim(0, 1)
    axes.set_ylim(1, 0)
    if place is not None:
        _block(paper, axes, 0.5, 1, 0, 1, place)
    elif name == marked:
        axes.plot([0.5, 0.5], [0, 1], color=paper.palette.ink, linewidth=1.6)
        axes.plot([0.5], [0.1], marker="v", markersize=6, color=paper.palette.ink, clip_on=False)
    else:
        _part(paper, axes, 0.5, 1, 0, Segment(name, GIB, None))
    paper.text(x + SWATCH, top, name, size=SMALL)
