"""Findings as lines of text: readable at 80 columns and without colour."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from kit.doctor.finding import Finding, Severity

MARKS: dict[Severity, str] = {"ok": "ok", "warn": "warn", "fail": "FAIL", "unknown": "?"}
COLOURS: dict[Severity, str] = {"ok": "green", "warn": "yellow", "fail": "bold red", "unknown": "cyan"}
_SUBJECT = 18


def lines(findings: Sequence[Finding], width: int) -> Iterator[tuple[str, str]]:
    """(line, colour of its first word). Long findings wrap under themselves; a fix stands alone after an arrow, in
    one line, so that it can be copied."""
    for finding in findings:
        head = f"{MARKS[finding.severity]:<5} {finding.subject:<{_SUBJECT}}  "
        wrapped = textwrap.wrap(
            finding.what, max(width - len(head), 40), break_long_words=False, break_on_hyphens=False
        ) or [""]
        yield f"{head}{wrapped[0]}", COLOURS[finding.severity]
        yield from ((" " * len(head) + rest, "") for rest in wrapped[1:])
        if finding.fix and finding.severity != "ok":
            yield f"{' ' * 6}-> {finding.fix}", ""
    yield "", ""
    yield summary(findings), ""


def summary(findings: Sequence[Finding]) -> str:
    """How many of each."""
    counts = {severity: sum(finding.severity == severity for finding in findings) for severity in MARKS}
    if not counts["fail"] and not counts["warn"] and not counts["unknown"]:
        return f"all {counts['ok']} are good"
    words: dict[Severity, str] = {
        "ok": "good", "warn": "to be aware of", "fail": "to be fixed", "unknown": "unknown",
    }  # fmt: skip
    return ", ".join(f"{counts[severity]} {words[severity]}" for severity in words if counts[severity])
