"""Lists of names, written as words."""

from __future__ import annotations


def names(text: str) -> tuple[str, ...]:
    return tuple(text.split())
