"""Charts as values: what is drawn, and the text for readers who do not see it. Pure.

`name` is that of its file, `title` stands above a picture on its own, `caption` above the chart in the page, and
`words` is its text alternative.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Point:
    """A median, with the least and the most of its runs."""

    x: float
    y: float
    least: float
    most: float


@dataclass(frozen=True)
class Series:
    """A line. `place` picks its colour, marker and dashes; a name has the same place in all charts of an experiment."""

    name: str
    place: int
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Panel:
    """One pair of axes. `log` is for values that span too much for a scale from zero."""

    title: str
    series: tuple[Series, ...]
    log: bool = False


@dataclass(frozen=True)
class Chart:
    """What all charts have."""

    name: str
    title: str
    caption: str
    words: str


@dataclass(frozen=True)
class Curves(Chart):
    """Lines over `axis`, panels one above the other. `ticks` are the measured places; `log` when they are powers."""

    axis: str
    ticks: tuple[float, ...]
    panels: tuple[Panel, ...]
    log: bool = True


@dataclass(frozen=True)
class BarSegment:
    """A piece of a bar. `place` picks colour and hatching; None is what is left, and only outlined."""

    name: str
    begin: float
    end: float
    place: int | None


@dataclass(frozen=True)
class ChartRow:
    """A name with `value` at the right, a bar of `parts` below it, and a `note`; without parts it is a heading.

    `runs` are drawn as dots, `spread` as a line with ends, `mark` as a tick across the bar; a `minor` row belongs to
    the heading above it."""

    name: str
    value: str
    note: str = ""
    parts: tuple[BarSegment, ...] = ()
    runs: tuple[float, ...] = ()
    spread: tuple[float, ...] = ()
    mark: float | None = None
    minor: bool = False


@dataclass(frozen=True)
class Rows(Chart):
    """Bars over one scale in `unit`. `legend` names the parts by place, `marked` the marks; a card ends at `limit`."""

    unit: str
    rows: tuple[ChartRow, ...]
    legend: tuple[str, ...] = ()
    limit: float | None = None
    marked: str = ""
