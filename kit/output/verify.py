"""A verification for people: who was asked, what must be so, and the answer, one line a check."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kit.verify import Check, Verification

if TYPE_CHECKING:
    from rich.console import RenderableType

MARKS = {True: ("✓", "green"), False: ("✗", "red")}


def report(found: Verification) -> Iterator[RenderableType]:
    """What `verify` prints, as rich renderables: the checks by whom they ask, what was left out, and the sum."""
    from rich.text import Text

    yield Text(f"asked at {found.url}/v1", style="bold")
    yield _table(found.checks)
    for words in found.left_out:
        yield Text(f"not asked: {words}", style="yellow")
    yield Text(verdict(found), style="green" if found.ok else "red")


def verdict(found: Verification) -> str:
    """The sum in one line."""
    seconds = sum(check.seconds for check in found.checks)
    failed = sum(not check.ok for check in found.checks)
    if failed:
        return f"{failed} of {len(found.checks)} checks failed ({seconds:.1f} s)"
    return f"all {len(found.checks)} checks are good ({seconds:.1f} s)"


def grouped(checks: Sequence[Check]) -> dict[str, list[Check]]:
    """Who was asked -> the checks, both in the order of asking."""
    found: dict[str, list[Check]] = {}
    for check in checks:
        found.setdefault(check.name, []).append(check)
    return found


def _table(checks: Sequence[Check]) -> RenderableType:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column()
    table.add_column(justify="right", no_wrap=True)
    table.add_column(style="dim", overflow="fold")
    for name, asked in grouped(checks).items():
        for number, check in enumerate(asked):
            mark, colour = MARKS[check.ok]
            shown = Text(name if number == 0 else "")
            style = "" if check.ok else "red"
            table.add_row(
                Text(mark, colour), shown, Text(check.what), f"{check.seconds:.1f} s", Text(check.detail, style)
            )
    return table
