"""Colours of a report by what they are for, in light and in dark. Pure.

The six of the series were searched for: they keep apart for people who see no red, no green or no blue, and stand out
from their background by 3:1 and more; text does by 4.5:1 (WCAG 2 AA). The tests compute both.
"""

from __future__ import annotations

from dataclasses import dataclass, fields


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
# Stands for whichever of the two the reader's device shows: colours that nothing else has, to be replaced by variables.
EITHER = Palette(
    background="#fe0001",
    surface="#fe0002",
    ink="#fe0003",
    muted="#fe0004",
    line="#fe0005",
    accent="#fe0006",
    better="#fe0007",
    worse="#fe0008",
    series=tuple(f"#fe01{n:02x}" for n in range(len(LIGHT.series))),
)
