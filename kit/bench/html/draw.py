"""A chart drawn: as an SVG for a page of either theme, or as a PNG.

This module and `sheet` alone know matplotlib, and leave its global state as it was."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Any

from kit.bench.html.bars import bars, stack, timeline
from kit.bench.html.chartspecs import (
    Bars,
    Chart,
    Curves,
    StackedBars,
    Timeline,
)
from kit.bench.html.lines import curves
from kit.bench.html.palette import EITHER, LIGHT, Palette
from kit.bench.html.sheet import EDGE, STYLE, Sheet
from kit.bench.html.svg import inline
from kit.errors import printable

DPI = 144  # two dots a CSS pixel


def svg(chart: Chart) -> str:
    """An <svg> element to be written into the page: its colours are the page's variables, its ids its own.

    Raises KitError where matplotlib is missing."""
    out = BytesIO()
    with _styled():
        _drawn(chart, EITHER).figure.savefig(out, format="svg", metadata={"Date": None})
    return inline(out.getvalue().decode(), chart.name, printable(chart.words), EITHER, EDGE)


def png(chart: Chart) -> bytes:
    """A picture that stands alone, with its title, in light colours, at two dots a pixel.

    Raises KitError where matplotlib is missing."""
    out = BytesIO()
    with _styled():
        _drawn(chart, LIGHT, chart.title).figure.savefig(out, format="png", dpi=DPI, metadata={"Software": None})
    return out.getvalue()


def _drawn(chart: Chart, palette: Palette, title: str = "") -> Sheet:
    match chart:
        case Curves():
            return curves(chart, palette, title)
        case Bars():
            return bars(chart, palette, title)
        case Timeline():
            return timeline(chart, palette, title)
        case StackedBars():
            return stack(chart, palette, title)


@contextmanager
def _styled() -> Iterator[None]:
    """matplotlib with its own defaults and ours, whatever the user's matplotlibrc says; a letter that its font lacks is
    a box in the PNG and no reason for a warning."""
    with warnings.catch_warnings():
        try:
            import matplotlib

            loaded: Any = matplotlib
        except ImportError:
            yield  # the sheet says what is missing
            return
        warnings.filterwarnings("ignore", "Glyph", UserWarning)
        with loaded.rc_context():
            loaded.rcdefaults()
            loaded.rcParams.update(STYLE)
            yield
