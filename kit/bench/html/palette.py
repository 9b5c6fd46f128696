"""Colours of a report by what they are for, in light and in dark, and the theme of its charts. Pure.

The six of the series were searched for: they keep apart for people who see no red, no green or no blue, and stand out
from their background by 3:1 and more; text does by 4.5:1 (WCAG 2 AA). The tests compute both.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True)
class Palette:
    """`#rrggbb` each. `surface` lies on `background`; text is `ink`, `muted`, `accent` (links), `better` or `worse`."""

    background: str
    surface: str
    ink: str
    muted: str
    line: str
    accent: str
    better: str
    worse: str
    series: tuple[str, ...]

    def named(self) -> tuple[tuple[str, str], ...]:
        """(name, colour), as CSS names them: ink, series-1."""
        roles = [(field.name, getattr(self, field.name)) for field in fields(self) if field.name != "series"]
        return (*roles, *((f"series-{n}", colour) for n, colour in enumerate(self.series, 1)))


LIGHT = Palette(
    background="#ffffff",
    surface="#f4f6f8",
    ink="#16191d",
    muted="#505a65",
    line="#d3d9e0",
    accent="#1d5bb5",
    better="#0b6b3a",
    worse="#a8261c",
    series=("#1d63c7", "#cc6400", "#1ea39b", "#82466b", "#492f00", "#240e7e"),
)
DARK = Palette(
    background="#14181d",
    surface="#1c2229",
    ink="#e7eaee",
    muted="#a5afba",
    line="#3a434d",
    accent="#7fb1ff",
    better="#5fd394",
    worse="#ff8f84",
    series=("#4e85ef", "#e0821c", "#36c6b6", "#ab5e8e", "#f7d732", "#d1edfe"),
)
# A series is known by its marker and dashes, a part of a bar by its hatching; colour only helps.
MARKERS = ("o", "s", "^", "D", "v", "P")
DASHES: tuple[Any, ...] = ("-", (0, (6, 2)), (0, (2, 1.5)), (0, (7, 2, 2, 2)), (0, (4, 1, 1, 1, 1, 1)), (0, (1, 1)))
HATCHES = ("", "///", "\\\\\\", "---", "|||", "+++")
SMALL = 11  # the font size of charts, in CSS pixels
# matplotlib's settings. Names are data: a $ in them begins no mathematics. Letters stay letters in an SVG.
THEME: dict[str, Any] = {
    "text.parse_math": False,
    "svg.fonttype": "none",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": SMALL,
    "figure.dpi": 72,
    "figure.facecolor": LIGHT.background,
    "figure.constrained_layout.w_pad": 4 / 72,
    "figure.constrained_layout.hspace": 0.06,
    "text.color": LIGHT.ink,
    "axes.titlesize": SMALL,
    "axes.titlelocation": "left",
    "axes.titlecolor": LIGHT.muted,
    "axes.labelcolor": LIGHT.muted,
    "axes.edgecolor": LIGHT.muted,
    "axes.facecolor": "none",
    "axes.axisbelow": True,
    **{f"axes.spines.{side}": False for side in ("left", "right", "top")},
    "grid.color": LIGHT.line,
    **{f"{axis}tick.{key}": LIGHT.muted for axis in "xy" for key in ("color", "labelcolor")},
    "ytick.major.size": 0,
    "hatch.linewidth": 0.8,
    "legend.frameon": False,
    "legend.borderpad": 0,
    "legend.borderaxespad": 0.5,
    "legend.columnspacing": 1.4,
    "legend.handleheight": 1.0,
    "patch.edgecolor": LIGHT.background,
    "patch.force_edgecolor": True,
    "patch.linewidth": 0.8,
}
