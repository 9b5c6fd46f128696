"""Measured numbers as people read them. Pure. What nobody knows is said to be unknown."""

from __future__ import annotations

import math

UNKNOWN = "unknown"


def number(value: float | None) -> str:
    """Three digits that count, or the whole number: 12,838; 62.4; 0.0551."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    if value == 0:
        return "0"
    digits = 2 - math.floor(math.log10(abs(value)))
    if digits <= 0:
        return f"{value:,.0f}"
    return f"{value:,.{min(digits, 9)}f}"


def quantity(value: float | None, unit: str) -> str:
    """`"12,838 tok/s"`."""
    said = number(value)
    return said if said == UNKNOWN else f"{said} {unit}".rstrip()


def plain(value: float | None) -> str:
    """A number that somebody chose, as it was chosen: 64; 0.5; 2,048."""
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
    """`"2.01x"`; a ratio of 0 or less is that of a run that showed nothing."""
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
    """Whether all of these are numbers that can be drawn."""
    return all(value is not None and math.isfinite(value) for value in values)
