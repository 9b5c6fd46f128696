"""Sizes and counts as people write them, and back. Inside the kit everything is bytes, tokens and seconds."""

from __future__ import annotations

import re

KIB = 1024
MIB = 1024**2
GIB = 1024**3

_BYTES = {"b": 1, "kib": KIB, "mib": MIB, "gib": GIB, "tib": 1024**4, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_NUMBER = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*")


def parse_bytes(text: str | int) -> int:
    """`"16GiB"`, `"512 MiB"`, `"2GB"` or plain bytes -> bytes. Raises ValueError that says what was needed."""
    if isinstance(text, bool) or not isinstance(text, str | int):
        raise ValueError("a size such as 4GiB or 512MiB")
    if isinstance(text, int):
        return text
    match = _NUMBER.fullmatch(text)
    unit = match.group(2).lower() if match else ""
    if not match or (unit and unit not in _BYTES):
        raise ValueError("a size such as 4GiB or 512MiB")
    number = float(match.group(1)) if "." in match.group(1) else int(match.group(1))
    if not unit and isinstance(number, float):
        raise ValueError("a size with its unit, such as 4GiB")
    return int(number * _BYTES.get(unit, 1))


def parse_count(text: str | int) -> int:
    """`"8k"` -> 8192, `"1.5k"` -> 1536, `"1m"` -> 1048576, `4096` -> 4096. k is 1024, as context lengths are counted."""
    if isinstance(text, bool) or not isinstance(text, str | int):
        raise ValueError("a count such as 8192 or 8k (k is 1024)")
    if isinstance(text, int):
        return text
    match = _NUMBER.fullmatch(text)
    if not match or match.group(2).lower() not in ("", "k", "m"):
        raise ValueError("a count such as 8192 or 8k (k is 1024)")
    factor = {"": 1, "k": KIB, "m": MIB}[match.group(2).lower()]
    number = float(match.group(1)) * factor
    if number != int(number):
        raise ValueError("a whole count such as 8192 or 8k (k is 1024)")
    return int(number)


def gib(count: int) -> str:
    """Bytes -> `"1.23 GiB"`."""
    return f"{count / GIB:.2f} GiB"


def mib(count: int) -> str:
    """Bytes -> `"123 MiB"`."""
    return f"{count / MIB:,.0f} MiB"


def size(count: int) -> str:
    """Bytes in the unit a person would pick: `"1.23 GiB"`, `"38.6 MiB"`, `"12 KiB"`, `"40 B"`."""
    if abs(count) >= GIB:
        return gib(count)
    if abs(count) >= MIB:
        return f"{count / MIB:.1f} MiB"
    return f"{count / KIB:.0f} KiB" if abs(count) >= KIB else f"{count} B"
