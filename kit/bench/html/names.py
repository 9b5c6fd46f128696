"""Names that are data -> names that fit files, ids and links. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

LONGEST = 60


def unique(names: Iterable[str], fallback: str) -> list[str]:
    """A slug for each name, in its order; what would be the same gets a number: `chat`, `chat-2`."""
    used: set[str] = set()
    made = []
    for name in names:
        slug = re.sub(r"[^a-z0-9]+", "-", name.lower())[:LONGEST].strip("-") or fallback
        slug = next(one for n in range(1, len(used) + 2) if (one := slug if n == 1 else f"{slug}-{n}") not in used)
        used.add(slug)
        made.append(slug)
    return made
