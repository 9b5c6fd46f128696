"""Checks for people: what `doctor` found of a machine, and what `verify` asked a stack. Readable without colour."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kit.doctor.model import Finding, Severity
from kit.verify import Check, Verification

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

# Severity -> its mark, its colour, and its word in the sum.
MARKS: dict[Severity, tuple[str, str, str]] = {
    "ok": ("ok", "green", "ok"),
    "warn": ("warn", "yellow", "warning(s)"),
    "fail": ("FAIL", "bold red", "failure(s)"),
    "unknown": ("?", "cyan", "unknown"),
}


def findings_lines(findings: Sequence[Finding], width: int) -> Iterator[Text]:
    """What `doctor` prints. Long findings wrap under themselves; a fix is one line after an arrow, to be copied."""
    from rich.text import Text

    for finding in findings:
        mark, colour, _ = MARKS[finding.severity]
        head = f"{mark:<5} {finding.subject:<18}  "
        wrapped = textwrap.wrap(
            finding.what, max(width - len(head), 40), break_long_words=False, break_on_hyphens=False
        )
        yield Text.assemble((mark, colour), f"{head[len(mark) :]}{wrapped[0] if wrapped else ''}")
        yield from (Text(" " * len(head) + rest) for rest in wrapped[1:])
        if finding.fix and finding.severity != "ok":
            yield Text(f"{' ' * 6}-> {finding.fix}")
    yield from (Text(), Text(summary(findings)))


def summary(findings: Sequence[Finding]) -> str:
    """How many of each severity."""
    counts = Counter(finding.severity for finding in findings)
    said = (f"{counts[severity]} {word}" for severity, (*_, word) in MARKS.items() if counts[severity])
    return ", ".join(one.replace("(s)", "" if one.startswith("1 ") else "s") for one in said)


def verification(found: Verification) -> Iterator[RenderableType]:
    """What `verify` prints, as rich renderables: the checks by model, what was not checked, and the sum."""
    from rich.text import Text

    yield Text(f"checks at {found.url}/v1", style="bold")
    yield _table(found.checks)
    for what in found.left_out:
        yield Text(f"not checked: {what}", style="yellow")
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
    names = dict.fromkeys(check.name for check in checks)
    return {name: [check for check in checks if check.name == name] for name in names}


def _table(checks: Sequence[Check]) -> RenderableType:
    from rich import box
    from rich.table import Column, Table
    from rich.text import Text

    table = Table(
        Column(no_wrap=True), Column(no_wrap=True), Column(), Column(justify="right", no_wrap=True),
        Column(style="dim", overflow="fold"), box=box.SIMPLE, pad_edge=False, show_header=False,
    )  # fmt: skip
    for name, asked in grouped(checks).items():
        for number, check in enumerate(asked):
            mark = Text("✓", "green") if check.ok else Text("✗", "red")
            shown, what = Text("" if number else name), Text(check.what)
            table.add_row(mark, shown, what, f"{check.seconds:.1f} s", Text(check.detail, "" if check.ok else "red"))
    return table
