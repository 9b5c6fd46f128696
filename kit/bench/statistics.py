"""Medians, spreads and verdicts. Pure.

With three to five runs of an arm nothing can be assumed of how they are distributed. So the verdict asks the plainest
question: do the ranges overlap? Where they do, the answer is "no difference", whatever the medians say.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Literal

from kit.bench.results import (
    Arm,
    Conclusion,
    Outcome,
    Run,
)

LEAST_RUNS = 3


def arm(name: str, runs: Sequence[Run], x: float | None = None) -> Arm:
    """The arm of these runs; at least one."""
    values = [run.value for run in runs]
    return Arm(name, tuple(runs), median(values), min(values), max(values), x)


def verdict(one: Arm, first: Arm, better: Literal["higher", "lower"]) -> Conclusion:
    """`one` beside `first`."""
    if min(one.least, first.least, one.median, first.median) <= 0:
        return Conclusion(one.name, "unknown", 0.0, 0.0, 0.0, "unknown: a run shows nothing")
    ratio = one.median / first.median
    low, high = one.least / first.most, one.most / first.least
    outcome = _outcome(one, first, low, high)
    return Conclusion(one.name, outcome, ratio, low, high, _words(outcome, ratio, low, high, better, first.name))


def _outcome(one: Arm, first: Arm, low: float, high: float) -> Outcome:
    if min(len(one.runs), len(first.runs)) < LEAST_RUNS:
        return "unknown"
    return "no difference" if low <= 1 <= high else "difference"


def _words(
    outcome: Outcome, ratio: float, low: float, high: float, better: Literal["higher", "lower"], first: str
) -> str:
    figures = f"{ratio:.2f}x ({low:.2f} to {high:.2f})"
    if outcome == "unknown":
        return f"unknown: {figures}, of fewer than {LEAST_RUNS} runs each"
    if outcome == "no difference":
        return f"no difference: {figures}, the spreads overlap"
    good = (ratio > 1) == (better == "higher")
    return f"{'better' if good else 'worse'} than {first}: {figures}"
