"""Sizes and counts as people write them, and back. Inside the kit everything is bytes, tokens and seconds."""

from __future__ import annotations

import re
from fractions import Fraction

KIB = 1024
MIB = 1024**2
GIB = 1024**3

_BYTES = {
    "b": 1,
    "kib": KIB,
    "mib": MIB,
    "gib": GIB,
    "tib": 1024**4,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
}
_COUNTS = {"": 1, "k": KIB, "m": MIB}
# Digits are bounded, so that no text makes a number that takes long to compute or overflows a float.
_NUMBER = re.compile(r"\s*([0-9]{1,18}(?:\.[0-9]{1,18})?)\s*([A-Za-z]*)\s*")

_RELEASE = re.compile(r"v?(\d+)\.(\d+)")

_A_SIZE = "a size such as 4GiB or 512MiB"
_A_COUNT = "a count such as 8192 or 8k (k is 1024)"


def parse_bytes(text: str | int) -> int:
    """`"16GiB"`, `"512 MiB"`, `"2GB"` or plain bytes -> bytes. Raises ValueError with what is needed."""
    if type(text) is int:
        return text
    number, unit = _number_and_unit(text, _A_SIZE)
    if unit and unit not in _BYTES:
        raise ValueError(_A_SIZE)
    if not unit and number.denominator != 1:
        raise ValueError("a size with its unit, such as 4GiB")
    return int(number * _BYTES.get(unit, 1))


def parse_count(text: str | int) -> int:
    """`"8k"` -> 8192, `"1.5k"` -> 1536, `"1m"` -> 1048576, `4096` -> 4096. k is 1024, as contexts are counted.

    Raises ValueError with what is needed."""
    if type(text) is int:
        return text
    number, unit = _number_and_unit(text, _A_COUNT)
    if unit not in _COUNTS:
        raise ValueError(_A_COUNT)
    count = number * _COUNTS[unit]
    if count.denominator != 1:
        raise ValueError("a whole count such as 8192 or 8k (k is 1024)")
    return int(count)


def _number_and_unit(text: object, needed: str) -> tuple[Fraction, str]:
    match = _NUMBER.fullmatch(text) if isinstance(text, str) else None
    if not match:
        raise ValueError(needed)
    return Fraction(match.group(1)), match.group(2).lower()


def release(text: str) -> tuple[int, int] | None:
    """The release that a version names: `"v26.1.5+dfsg1"` -> (26, 1); None for what is no version."""
    match = _RELEASE.match(text)
    return (int(match.group(1)), int(match.group(2))) if match else None


def release_text(version: tuple[int, int]) -> str:
    """(0, 26) -> `"0.26"`."""
    return f"{version[0]}.{version[1]}"


def up(count: int, step: int) -> int:
    """`count` rounded up to a multiple of `step`."""
    return -(-count // step) * step


def gib(count: int) -> str:
    """Bytes -> `"1.23 GiB"`."""
    return f"{count / GIB:.2f} GiB"


def size(count: int) -> str:
    """Bytes in the unit a person would pick: `"1.23 GiB"`, `"38.6 MiB"`, `"12 KiB"`, `"40 B"`."""
    if abs(count) >= GIB:
        return gib(count)
    if abs(count) >= MIB:
        return f"{count / MIB:.1f} MiB"
    return f"{count / KIB:.0f} KiB" if abs(count) >= KIB else f"{count} B"


def duration(seconds: float) -> str:
    """Seconds in two units: `"3 d 4 h"`, `"25 h 0 min"`, `"12 min 30 s"`, `"45 s"`."""
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if minutes else f"{rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours < 48 else f"{hours // 24} d {hours % 24} h"
