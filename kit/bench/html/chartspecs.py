"""Charts as values: what is to be drawn, and in which words it is told to those who do not see it. Pure.

`title` says what a picture is of where it stands alone, `caption` where its heading stands above it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Point:
    """A median, and the least and the most of the runs behind it."""

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
    """Axes of their own. `unit` is that of y; `log` when the values span too much for a scale from zero."""

    title: str
    unit: str
    series: tuple[Series, ...]
    log: bool = False


@dataclass(frozen=True)
class Curves:
    """Lines over `axis`, panels one above the other. `ticks` are the places that were measured; `log` when they are
    powers of something."""

    name: str
    title: str
    caption: str
    words: str
    axis: str
    ticks: tuple[float, ...]
    panels: tuple[Panel, ...]
    log: bool = True


@dataclass(frozen=True)
class BarRow:
    """An arm: its median with the least and the most of its runs, None where unknown; the verdict in `words`."""

    name: str
    median: float | None
    least: float | None
    most: float | None
    runs: tuple[float, ...]
    words: str


@dataclass(frozen=True)
class Bars:
    """Arms beside each other."""

    name: str
    title: str
    caption: str
    words: str
    unit: str
    rows: tuple[BarRow, ...]


@dataclass(frozen=True)
class Span:
    """A service from `begin` to `end`, in seconds."""

    name: str
    begin: float
    end: float


@dataclass(frozen=True)
class Lane:
    """The start of one arm; `words` say how long it took."""

    name: str
    words: str
    spans: tuple[Span, ...]


@dataclass(frozen=True)
class Timeline:
    """Starts, each over the same seconds."""

    name: str
    title: str
    caption: str
    words: str
    lanes: tuple[Lane, ...]


@dataclass(frozen=True)
class Segment:
    """Bytes of a bar; `place` picks colour and hatching, None is memory that is left."""

    name: str
    bytes: int
    place: int | None


@dataclass(frozen=True)
class Pile:
    """A bar of parts. `mark` is what the driver showed, in bytes; None where it did not tell."""

    name: str
    words: str
    parts: tuple[Segment, ...]
    mark: int | None = None


@dataclass(frozen=True)
class StackedBars:
    """Bars over bytes. `total` is where the card ends, None where that is unknown or of no interest; `legend` are the
    parts' names by place; `marked` says what a mark is, "" without marks."""

    name: str
    title: str
    caption: str
    words: str
    piles: tuple[Pile, ...]
    legend: tuple[str, ...]
    total: int | None = None
    marked: str = ""


Chart = Curves | Bars | Timeline | StackedBars
