"""A chart drawn with matplotlib: as an SVG for the page, whose colours it takes, or as a PNG on its own.

This module alone knows matplotlib, and leaves its global state as it was."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from html import escape
from io import BytesIO
from itertools import accumulate
from textwrap import wrap
from typing import TYPE_CHECKING, Any
from unicodedata import east_asian_width

from kit.bench.html.chartspecs import (
    Chart,
    ChartRow,
    Curves,
    Panel,
    Rows,
)
from kit.bench.html.numbers import plain, short
from kit.bench.html.palette import DASHES, HATCHES, LIGHT, MARKERS, SMALL, THEME
from kit.errors import KitError, Problem, printable

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 372  # CSS pixels: a phone shows it in its own size
DPI = 144  # of a PNG: two dots a CSS pixel
COLUMNS = 57  # letters of a sans-serif face beside each other, on the safe side
LINE = 17  # CSS pixels
ROLES = {colour: role for role, colour in LIGHT.named()}


def svg(chart: Chart) -> str:
    """An <svg> element for a page: its colours are the page's variables, its ids its own.

    Raises KitError where matplotlib is missing."""
    out = BytesIO()
    with _drawn(chart) as figure:
        figure.savefig(out, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    text = re.sub(r"<defs>\s*<style.*?</defs>", "", out.getvalue().decode(), count=1, flags=re.DOTALL)
    element = re.sub(r"<[^>]+>", _for_page, text[text.index("<svg") :])
    return f'<svg role="img" aria-label="{escape(printable(chart.words))}"{element.removeprefix("<svg")}'


def _for_page(tag: re.Match[str]) -> str:
    """A tag with variables as colours, and without what belongs to a file or would be there twice."""
    text = re.sub(r' (id="[\w.]+_\d+"|xmlns(:xlink)?="[^"]*")', "", tag[0]).replace("xlink:", "")
    text = re.sub(r'fill="(#\w+)"', r'style="fill: \1"', text)  # a variable is no value of an attribute
    return re.sub(r"#[0-9a-f]{6}\b", lambda found: f"var(--{ROLES[found[0]]})" if found[0] in ROLES else found[0], text)


def png(chart: Chart) -> bytes:
    """A picture with its title, in light colours, at two dots a pixel. Raises KitError where matplotlib is missing."""
    out = BytesIO()
    with _drawn(chart) as figure:
        lines = wrap(printable(chart.title), COLUMNS - 10, max_lines=3, placeholder="…")
        figure.set_figheight(figure.get_figheight() + len(lines) * LINE / 72)
        figure.suptitle("\n".join(lines), x=4 / WIDTH, ha="left", size=SMALL + 2, weight="bold")
        figure.savefig(out, format="png", dpi=DPI, metadata={"Software": None})
    return out.getvalue()


@contextmanager
def _drawn(chart: Chart) -> Iterator[Figure]:
    """The chart in the theme, whatever matplotlibrc says; a letter that the font lacks is a box in the PNG."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        fix = "pip install 'monogpu-kit[report]'"
        raise KitError(Problem(f"pictures need matplotlib, which does not load: {error}", fix)) from None
    settings: Any = matplotlib.rcParams
    with warnings.catch_warnings(), matplotlib.rc_context():
        warnings.filterwarnings("ignore", "Glyph", UserWarning)
        matplotlib.rcdefaults()
        settings.update(THEME | {"svg.hashsalt": chart.name})
        figure = Figure(layout="constrained")
        if isinstance(chart, Curves):
            _curves(figure, chart)
        elif isinstance(chart, Rows):
            _rows(figure, chart)
        yield figure


def _finish(figure: Figure, height: float, legend: Mapping[str, Artist]) -> None:
    """The figure's size, and its legend in as many columns as its longest name allows."""
    names = [clipped(name, COLUMNS - 6) for name in legend]
    columns = max(1, COLUMNS // (max(map(columns_of, names), default=0) + 7))
    if names:
        figure.legend(list(legend.values()), names, loc="outside lower left", ncols=columns)
    figure.set_size_inches(WIDTH / 72, (height - LINE * (-len(names) // columns)) / 72)


def columns_of(text: str) -> int:
    return sum(2 if east_asian_width(char) in "WF" else 1 for char in text)


def clipped(text: str, columns: int) -> str:
    """As much of a text as there is room for, fit to be shown."""
    shown = printable(text)
    if columns_of(shown) <= columns:
        return shown
    ends = accumulate(map(columns_of, shown))
    return "".join(char for char, end in zip(shown, ends, strict=True) if end < columns).rstrip() + "…"


# ---- curves


def _curves(figure: Figure, chart: Curves) -> None:
    legend: dict[str, Artist] = {}
    for axes, panel in zip(figure.subplots(len(chart.panels), squeeze=False)[:, 0], chart.panels, strict=True):
        legend |= _panel(axes, chart, panel)
    axes.set_xlabel(clipped(chart.axis, COLUMNS - 10))
    high = 240 if len(chart.panels) == 1 else 180
    _finish(figure, len(chart.panels) * high + 20, legend if len(legend) > 1 else {})


def _panel(axes: Axes, chart: Curves, panel: Panel) -> dict[str, Artist]:
    """Lines of medians in a band from the least to the most."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

    lines: dict[str, Artist] = {}
    for line in panel.series:
        x = [point.x for point in line.points]
        colour, marker, dashes = (these[line.place % len(these)] for these in (LIGHT.series, MARKERS, DASHES))
        spread = [point.least for point in line.points], [point.most for point in line.points]
        axes.fill_between(x, *spread, color=colour, alpha=0.16, linewidth=0)
        (lines[line.name],) = axes.plot(
            x,
            [point.y for point in line.points],
            color=colour,
            marker=marker,
            linestyle=dashes,
            linewidth=1.8,
            clip_on=False,
        )
    axes.set_title(clipped(panel.title, COLUMNS - 8))
    if panel.log:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 3)))
    else:
        axes.set_ylim(bottom=0)
    if chart.log:
        axes.set_xscale("log")
    if chart.log or len(chart.ticks) == 1:
        axes.xaxis.set_major_locator(FixedLocator(chart.ticks, nbins=9))
    for axis, text in ((axes.xaxis, plain), (axes.yaxis, short)):
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda value, _, text=text: text(round(value, 9))))
    axes.grid(axis="y")
    return lines


# ---- bars


def _rows(figure: Figure, chart: Rows) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.ticker import FuncFormatter

    axes, top = figure.subplots(), 0.0
    for row in chart.rows:
        top = _row(axes, chart, row, top)
    axes.set_ylim(top, 0)
    axes.set_xlim(left=0)
    axes.set_yticks([])
    axes.set_xlabel(clipped(chart.unit, COLUMNS - 10))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: short(round(value, 9))))
    legend: dict[str, Artist] = {name: Patch(**_style(n)) for n, name in enumerate(chart.legend)}
    left = next((part for row in chart.rows for part in row.parts if part.place is None), None)
    if left:
        legend[left.name] = Patch(**_style(None))
    if chart.marked:
        legend[chart.marked] = Line2D([], [], color=LIGHT.ink, marker="|", markersize=14, linestyle="none")
    _finish(figure, top * LINE + 46, legend)


def _row(axes: Axes, chart: Rows, row: ChartRow, top: float) -> float:
    """A row `top` lines from the top; where the next one begins."""
    top += 0 if row.parts else 0.3
    value = clipped(row.value, COLUMNS - 12)
    bold = 1.0 if row.minor else 1.2  # times as wide
    name = clipped(row.name, int((COLUMNS - 2 - columns_of(value)) / bold))
    across = axes.get_yaxis_transform()  # 0 to 1 from left to right
    axes.text(0, top + 0.5, name, transform=across, va="center", weight="normal" if row.minor else "bold")
    axes.text(1, top + 0.5, value, transform=across, va="center", ha="right")
    high = 0.5 if row.minor else 0.9
    middle, top = top + 1.05 + high / 2, top + (1.3 + high if row.parts else 1)
    for part in row.parts:
        axes.barh(middle, part.end - part.begin, left=part.begin, height=high, **_style(part.place))
    axes.plot(row.spread, [middle] * len(row.spread), color=LIGHT.ink, linewidth=1.2, marker="|", markersize=8)
    axes.plot(
        row.runs, [middle] * len(row.runs), "o", color=LIGHT.background, markeredgecolor=LIGHT.ink, markersize=5.5
    )
    for place in filter(None, (row.mark, chart.limit)):
        axes.vlines(place, middle - 0.6, middle + 0.6, color=LIGHT.ink, linewidth=2)
    if row.note:
        axes.text(0, top + 0.4, clipped(row.note, COLUMNS), transform=across, va="center", color=LIGHT.muted)
        top += 1
    return top + (0 if row.minor else 0.5 if row.parts else 0.2)


def _style(place: int | None) -> dict[str, Any]:
    """Colour and hatching of a piece of a bar; what is left is only outlined."""
    if place is None:
        return {"facecolor": "none", "edgecolor": LIGHT.muted, "linestyle": (0, (3, 2))}
    return {"facecolor": LIGHT.series[place % len(LIGHT.series)], "hatch": HATCHES[place % len(HATCHES)]}
