"""What the measurements say, in words. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from kit.bench.html.numbers import known, number, plain, quantity, ratio
from kit.bench.results import (
    Arm,
    Comparison,
    Conclusion,
    Experiment,
)

Finding = Literal["better", "worse", "no difference", "unknown"]
MOST = 4  # lines of a summary


@dataclass(frozen=True)
class KeyResult:
    """`strong` is what is remembered, `spread` how sure it is, `subject` what it is said of.

    `size` is how far a ratio is from 1, whichever way."""

    finding: Finding | Literal[""]
    strong: str
    spread: str
    subject: str
    size: float = 0.0


@dataclass(frozen=True)
class Tally:
    """How many verdicts there are of a kind."""

    finding: Finding
    count: int


def finding(verdict: Conclusion, comparison: Comparison) -> Finding:
    """Which way an arm differs from the first one, in the sense that is good for the reader."""
    if verdict.outcome == "no difference":
        return "no difference"
    if verdict.outcome == "unknown" or not known(verdict.ratio) or verdict.ratio <= 0:
        return "unknown"
    return "better" if (verdict.ratio > 1) == (comparison.better == "higher") else "worse"


def answers(comparison: Comparison) -> tuple[KeyResult, ...]:
    """One for each verdict, in its order."""
    return tuple(_answer(verdict, comparison) for verdict in comparison.verdicts)


def _answer(verdict: Conclusion, comparison: Comparison) -> KeyResult:
    found, subject = finding(verdict, comparison), _medians(verdict.arm, comparison)
    if found == "unknown":
        return KeyResult(found, found, verdict.words.removeprefix("unknown: "), subject)
    spread = f"({verdict.low:.2f} to {verdict.high:.2f})"
    if found == "no difference":
        return KeyResult(found, found, f"{ratio(verdict.ratio)} {spread}", subject)
    return KeyResult(found, ratio(verdict.ratio), spread, subject, abs(math.log(verdict.ratio)))


def _medians(name: str, comparison: Comparison) -> str:
    """`"prefill-heavy: shared 2,316 against random 1,153 tok/s"`."""
    arms = {arm.name: arm for arm in comparison.arms}
    if name not in arms:
        return f"{comparison.name}: {name}"
    first = comparison.arms[0]
    beside = f"against {first.name} {quantity(_value(first), comparison.unit)}"
    return f"{comparison.name}: {name} {number(_value(arms[name]))} {beside}"


def _value(arm: Arm) -> float | None:
    return arm.median if arm.runs else None


def peak(curve: Comparison) -> KeyResult | None:
    """Where a curve is best. None without a point."""
    found = [arm for arm in curve.arms if arm.runs and known(arm.median)]
    if not found:
        return None
    best = (max if curve.better == "higher" else min)(found, key=lambda arm: arm.median)
    place = f"{plain(best.x) if known(best.x) else best.name} {curve.axis}".strip()
    return KeyResult("", quantity(best.median, curve.unit), "", f"{curve.name}, {place}")


def summary(experiment: Experiment) -> tuple[KeyResult, ...]:
    """The experiment in a few lines: where its curves are best, and its verdicts; of many, the largest each way."""
    curves = [best for one in experiment.comparisons if one.kind == "curve" and (best := peak(one))]
    said = [answer for comparison in experiment.comparisons for answer in answers(comparison)]
    found = (*_few(curves, curves), *_few(said, _largest(said)))
    return found or tuple(_alone(experiment)) or (KeyResult("", "not measured", "", "; ".join(experiment.remarks)),)


def _alone(experiment: Experiment) -> Iterator[KeyResult]:
    """Arms that nothing was measured beside."""
    for comparison in experiment.comparisons:
        for arm in comparison.arms:
            if arm.runs:
                subject = f"{comparison.name}: {arm.name}, with nothing to compare it with"
                yield KeyResult("", quantity(arm.median, comparison.unit), "", subject)


def _few(all_: Sequence[KeyResult], important: Sequence[KeyResult]) -> list[KeyResult]:
    if len(all_) <= MOST:
        return list(all_)
    kept = list(important[:MOST]) or list(all_[:MOST])
    return [*kept, KeyResult("", "", "", f"{len(all_) - len(kept)} more below")]


def _largest(said: Sequence[KeyResult]) -> list[KeyResult]:
    ways = ([answer for answer in said if answer.finding == way] for way in ("better", "worse"))
    return [max(found, key=lambda answer: answer.size) for found in ways if found]


def tallies(experiment: Experiment) -> tuple[Tally, ...]:
    """How many verdicts of each kind an experiment has; those there are none of are left out."""
    counts = Counter(answer.finding for comparison in experiment.comparisons for answer in answers(comparison))
    kinds: tuple[Finding, ...] = ("better", "worse", "no difference", "unknown")
    return tuple(Tally(kind, counts[kind]) for kind in kinds if counts[kind])
