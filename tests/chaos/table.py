"""What the suite prints at its end: fault, what was lost, time to serve again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """`others` is how many requests to names that the fault did not strike were sent, and how many of them failed;
    `lost` is what happened to the struck names; `seconds` until they served again, None where they never stopped, or
    where nobody may mend it but the user."""

    fault: str
    said: str
    others: tuple[int, int]
    lost: str
    seconds: float | None = None


HEAD = ("fault", "what the user sees", "others: sent, failed", "lost", "serves again after")


def lines(rows: Sequence[Row]) -> list[str]:
    """The table, one line a row, its columns aligned."""
    cells = [HEAD, *(_cells(row) for row in rows)]
    wide = [max(len(row[at]) for row in cells) for at in range(len(HEAD))]
    return ["  ".join(text.ljust(width) for text, width in zip(row, wide, strict=True)).rstrip() for row in cells]


def _cells(row: Row) -> tuple[str, ...]:
    sent, failed = row.others
    again = "" if row.seconds is None else f"{row.seconds:.1f} s"
    return row.fault, row.said, f"{sent}, {failed}", row.lost, again
