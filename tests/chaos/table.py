"""What the suite prints at its end: fault, what was lost, time to serve again. `pytest --update` records it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.support.paths import RECORDED

RESULTS = RECORDED / "chaos.json"


@dataclass(frozen=True)
class Row:
    """`others` is how many requests to names that the fault did not strike were sent, and how many of them failed;
    `lost` is what happened to the struck names; `seconds` until they served again, None where they never stopped, or
    where nobody may fix it but the user."""

    fault: str
    said: str
    others: tuple[int, int]
    lost: str
    seconds: float | None = None

    @property
    def cells(self) -> tuple[str, ...]:
        """What stands under HEAD."""
        sent, failed = self.others
        again = "" if self.seconds is None else f"{self.seconds:.1f} s"
        return self.fault, self.said, f"{sent}, {failed}" if sent else "", self.lost, again


HEAD = ("fault", "what the user sees", "others: sent, failed", "lost", "serves again after")


def lines(rows: Sequence[Row]) -> list[str]:
    """The table, one line a row, its columns aligned."""
    cells = [HEAD, *(row.cells for row in rows)]
    wide = [max(len(row[at]) for row in cells) for at in range(len(HEAD))]
    return ["  ".join(text.ljust(width) for text, width in zip(row, wide, strict=True)).rstrip() for row in cells]


def recorded(path: Path = RESULTS) -> list[Row]:
    """The rows that were kept."""
    listed = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    return [Row(**{**each, "others": tuple(each["others"])}) for each in listed]


def record(rows: Sequence[Row], path: Path = RESULTS) -> None:
    """Keeps these rows, each in the place of the one of the same fault."""
    now = {row.fault: row for row in rows}
    kept = [now.pop(row.fault, row) for row in recorded(path)]
    made = [{**asdict(row), "seconds": row.seconds and round(row.seconds, 1)} for row in (*kept, *now.values())]
    text = ",\n".join(json.dumps(each, ensure_ascii=False) for each in made)
    path.write_text(f"[\n{text}\n]\n", encoding="utf-8")
