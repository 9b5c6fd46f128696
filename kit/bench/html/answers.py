"""The results in words: the lines at the top of the report and of each experiment. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from kit.bench.html.numbers import known, number, plain, quantity, ratio
from kit.bench.results import Arm, Comparison, Conclusion, Experiment

Finding = Literal["better", "worse", "no difference", "unknown"]
MOST = 4  # lines of a summary


@dataclass(frozen=True)
class KeyResult:
    """A line of a summary: the figure in bold, its range, and what it is the figure of.

    `size` is how far a ratio is from 1, up or down."""

    finding: Finding | Literal[""]
    strong: str
    spread: str
    subject: str
    size: float = 0.0


def finding(verdict: Conclusion, comparison: Comparison) -> Finding:
    """Whether an arm is better or worse than the first one."""
    if verdict.outcome == "no difference":
        return "no difference"
    if verdict.outcome == "unknown" or not known(verdict.ratio) or verdict.ratio <= 0:
        return "unknown"
    return "better" if (verdict.ratio > 1) == (comparison.better == "higher") else "worse"


def answers(comparison: Comparison) -> tuple[KeyResult, ...]:
    """One for each verdict, in order."""
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
    own, other = number(_value(arms[name])), quantity(_value(first), comparison.unit)
    return f"{comparison.name}: {name} {own} against {first.name} {other}"


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
    """The experiment in a few lines: the best points of its curves, and its verdicts; of many, the largest each way."""
    curves = [best for one in experiment.comparisons if one.kind == "curve" and (best := peak(one))]
    said = [answer for comparison in experiment.comparisons for answer in answers(comparison)]
    found = (*_few(curves, curves), *_few(said, _largest(said)))
    return found or tuple(_alone(experiment)) or (KeyResult("", "not measured", "", "; ".join(experiment.remarks)),)


def _alone(experiment: Experiment) -> Iterator[KeyResult]:
    """Arms that were measured without any other."""
    for comparison in experiment.comparisons:
        for arm in comparison.arms:
            if arm.runs:
                subject = f"{comparison.name}: {arm.name}, not compared"
                yield KeyResult("", quantity(arm.median, comparison.unit), "", subject)


def _few(all_: Sequence[KeyResult], important: Sequence[KeyResult]) -> list[KeyResult]:
    if len(all_) <= MOST:
        return list(all_)
    kept = list(important[:MOST]) or list(all_[:MOST])
    return [*kept, KeyResult("", "", "", f"{len(all_) - len(kept)} more below")]


def _largest(said: Sequence[KeyResult]) -> list[KeyResult]:
    ways = ([answer for answer in said if answer.finding == way] for way in ("better", "worse"))
    return [max(found, key=lambda answer: answer.size) for found in ways if found]


def tallies(experiment: Experiment) -> dict[Finding, int]:
    """How many verdicts of each kind an experiment has, without the kinds that it has none of."""
    counts = Counter(answer.finding for comparison in experiment.comparisons for answer in answers(comparison))
    kinds: tuple[Finding, ...] = ("better", "worse", "no difference", "unknown")
    return {kind: counts[kind] for kind in kinds if counts[kind]}
