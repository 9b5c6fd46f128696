"""Numbers and names as the report prints them. Pure. A number that is missing or not finite is "unknown"."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

UNKNOWN = "unknown"
LONGEST = 60  # characters of a name in a file or a link


def number(value: float | None) -> str:
    """Three significant digits, or the whole number: 12,838; 62.4; 0.0551."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    digits = 2 - math.floor(math.log10(abs(value))) if value else 0
    return f"{value:,.{min(max(digits, 0), 9)}f}"


def quantity(value: float | None, unit: str) -> str:
    """`"12,838 tok/s"`."""
    return f"{number(value)} {unit}".rstrip() if known(value) else UNKNOWN


def plain(value: float | None) -> str:
    """A number that was chosen, as it was written: 64; 0.5; 2,048."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    return f"{value:,.0f}" if value == round(value) else f"{value:g}"


def short(value: float) -> str:
    """For an axis: 0, 0.5, 250, 12k, 1.5M."""
    for step, letter in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= step:
            return f"{value / step:g}{letter}"
    return f"{value:g}"


def ratio(value: float) -> str:
    """`"2.01x"`; unknown for 0 and less, which come of runs without a result."""
    return f"{value:.2f}x" if math.isfinite(value) and value > 0 else UNKNOWN


def duration(seconds: float | None) -> str:
    """`"39.6 s"`, `"12 min"`, `"2 h 5 min"`."""
    if seconds is None or not math.isfinite(seconds):
        return UNKNOWN
    if seconds < 90:
        return f"{number(seconds)} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def known(*values: float | None) -> bool:
    """Whether all of these are finite numbers."""
    return all(value is not None and math.isfinite(value) for value in values)


def unique(names: Iterable[str], fallback: str) -> list[str]:
    """A slug for files, ids and links for each name, in order; duplicates are numbered: `chat`, `chat-2`."""
    made: list[str] = []
    for name in names:
        slug = re.sub(r"[^a-z0-9]+", "-", name.lower())[:LONGEST].strip("-") or fallback
        tries = (slug, *(f"{slug}-{n}" for n in range(2, len(made) + 2)))
        made.append(next(one for one in tries if one not in made))
    return made
