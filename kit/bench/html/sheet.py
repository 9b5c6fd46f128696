"""Paper for one chart: a figure measured in CSS pixels from its top left corner, and how text and axes look on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from unicodedata import east_asian_width

from kit.bench.html.numbers import short
from kit.bench.html.palette import Palette
from kit.errors import KitError, Problem, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 380.0  # a phone shows it in its own size
EDGE = 8.0  # left and right of everything
TEXT, SMALL = 12.0, 11.0
LINE = 18.0  # of a legend
MARKERS = ("o", "s", "^", "D", "v", "P")
DASHES: tuple[Any, ...] = ("-", (0, (6, 2)), (0, (2, 1.5)), (0, (7, 2, 2, 2)), (0, (4, 1, 1, 1, 1, 1)), (0, (1, 1)))
HATCHES = ("", "///", "\\\\\\", "---", "|||", "+++")
_EM = 0.58  # of the font's size: how wide a letter of a sans-serif face is, on the safe side
# Names are data: no $ in them begins mathematics. Letters stay letters in an SVG.
STYLE = {"text.parse_math": False, "svg.fonttype": "none", "svg.hashsalt": "monogpu-kit", "hatch.linewidth": 0.8}


@dataclass(frozen=True)
class Sheet:
    """`top` is the height that a title takes."""

    figure: Figure
    palette: Palette
    height: float
    top: float

    def axes(self, left: float, top: float, width: float, height: float) -> Axes:
        """Axes in this place, without a frame."""
        y = self.height - self.top - top - height
        made = self.figure.add_axes((left / WIDTH, y / self.height, width / WIDTH, height / self.height))
        made.set_facecolor("none")
        for side in made.spines.values():
            side.set_visible(False)
        made.tick_params(length=0, labelsize=SMALL, labelcolor=self.palette.muted, pad=5)
        made.set_axisbelow(True)
        return made

    def text(self, x: float, top: float, said: str, **options: Any) -> None:
        """Text whose middle is `top` below the title."""
        style: dict[str, Any] = {"size": TEXT, "color": self.palette.ink, "va": "center"} | options
        self.figure.text(x / WIDTH, 1 - (self.top + top) / self.height, printable(said), **style)

    def colour(self, place: int) -> str:
        return self.palette.series[place % len(self.palette.series)]


def sheet(height: float, palette: Palette, title: str = "") -> Sheet:
    """Raises KitError where matplotlib is missing."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise KitError(
            Problem(f"pictures need matplotlib, which does not load: {error}", "pip install 'monogpu-kit[report]'")
        ) from None
    lines = wrapped(title, WIDTH - 16, TEXT + 1) if title else []
    top = 18.0 * len(lines) + 14 if lines else 0.0
    figure = Figure(figsize=(WIDTH / 72, (height + top) / 72), dpi=72)
    figure.set_facecolor(palette.background if title else "none")
    made = Sheet(figure, palette, height + top, top)
    for n, line in enumerate(lines):
        made.text(8, 18 * n + 16 - top, line, size=TEXT + 1, weight="bold")
    return made


def width(said: str, size: float = TEXT) -> float:
    """About how many pixels a text takes."""
    return sum(1.0 if east_asian_width(char) in "WF" else _EM for char in said) * size


def clipped(said: str, room: float, size: float = TEXT) -> str:
    """As much of a text as there is room for."""
    if width(said, size) <= room:
        return said
    while said and width(said + "…", size) > room:
        said = said[:-1]
    return said.rstrip() + "…"


def wrapped(said: str, room: float, size: float = TEXT) -> list[str]:
    """A text in at most three lines."""
    lines = [""]
    for word in printable(said).split(" "):
        longer = f"{lines[-1]} {word}".strip()
        if width(longer, size) <= room or not lines[-1]:
            lines[-1] = longer
        else:
            lines.append(word)
    kept = lines[:3] if len(lines) <= 3 else [*lines[:2], " ".join(lines[2:])]
    return [clipped(line, room, size) for line in kept]


def steps(most: float, count: int = 5) -> list[float]:
    """Round numbers from 0 to `most`."""
    from matplotlib.ticker import MaxNLocator

    ticks = MaxNLocator(count, steps=[1, 2, 2.5, 5, 10]).tick_values(0, most)
    return [float(tick) for tick in ticks if 0 <= tick <= most]


def said_short(ticks: Sequence[float]) -> list[str]:
    return [short(round(tick, 9)) for tick in ticks]


def legend(names: Sequence[str], swatch: float) -> list[list[tuple[float, int, str]]]:
    """A legend in rows: where each entry begins, its index, its name; `swatch` is the room before the name."""
    room = WIDTH - 2 * EDGE
    rows: list[list[tuple[float, int, str]]] = [[]]
    x = 0.0
    for n, name in enumerate(names):
        shown = clipped(printable(name), room - swatch, SMALL)
        taken = swatch + width(shown, SMALL) + 14
        if rows[-1] and x + taken - 14 > room:
            rows.append([])
            x = 0.0
        rows[-1].append((x, n, shown))
        x += taken
    return rows
