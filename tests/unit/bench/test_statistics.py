from __future__ import annotations

from dataclasses import replace
from statistics import median
from typing import Literal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kit.bench.analyze import LEAST_RUNS, arm, verdict
from kit.bench.results import (
    Arm,
    Conclusion,
    Run,
)

POSITIVE = st.floats(0.01, 1e6)
VALUES = st.lists(POSITIVE, min_size=1, max_size=6)
ENOUGH = st.lists(POSITIVE, min_size=LEAST_RUNS, max_size=6)
WAYS: tuple[Literal["higher", "lower"], ...] = ("higher", "lower")
WAY = st.sampled_from(WAYS)


def of(values: list[float], name: str = "arm") -> Arm:
    return arm(name, [Run(f"{name}.{n}", n, value, 1.0) for n, value in enumerate(values, 1)])


def beside(one: list[float], first: list[float], better: Literal["higher", "lower"] = "higher") -> Conclusion:
    return verdict(of(one, "one"), of(first, "first"), better)


@given(VALUES, st.none() | POSITIVE)
def test_an_arm_is_its_runs_and_their_median_and_range(values: list[float], x: float | None) -> None:
    made = replace(of(values), x=x)
    assert (made.median, made.least, made.most, made.x) == (median(values), min(values), max(values), x)
    assert [run.value for run in made.runs] == values


@given(ENOUGH, ENOUGH, WAY)
def test_overlapping_ranges_are_no_difference_and_no_others(
    one: list[float], first: list[float], way: Literal["higher", "lower"]
) -> None:
    overlap = max(min(one), min(first)) <= min(max(one), max(first))
    found = beside(one, first, way)
    assert found.outcome == ("no difference" if overlap else "difference")
    assert found.words.startswith("no difference: ") is overlap


@given(ENOUGH, ENOUGH, WAY)
def test_a_verdict_is_the_same_from_the_other_side(
    one: list[float], first: list[float], way: Literal["higher", "lower"]
) -> None:
    mine, theirs = beside(one, first, way), beside(first, one, way)
    assert mine.ratio * theirs.ratio == pytest.approx(1)
    assert mine.low * theirs.high == pytest.approx(1) and mine.high * theirs.low == pytest.approx(1)
    assert mine.outcome == theirs.outcome
    if mine.outcome == "difference":
        assert {mine.words.split()[0], theirs.words.split()[0]} == {"better", "worse"}


@given(ENOUGH, ENOUGH)
def test_what_is_better_the_one_way_is_worse_the_other(one: list[float], first: list[float]) -> None:
    up, down = (beside(one, first, way) for way in WAYS)
    assert (up.outcome, up.ratio, up.low, up.high) == (down.outcome, down.ratio, down.low, down.high)
    if up.outcome == "difference":
        assert up.words.startswith("better") is (min(one) > max(first)) and up.words[:5] != down.words[:5]


@given(ENOUGH, ENOUGH, st.sampled_from([0.5, 2.0, 1024.0]))
def test_the_unit_does_not_matter(one: list[float], first: list[float], scale: float) -> None:
    assert beside(one, first) == beside([v * scale for v in one], [v * scale for v in first])


@given(ENOUGH, ENOUGH)
def test_the_ratio_lies_in_its_range(one: list[float], first: list[float]) -> None:
    found = beside(one, first)
    assert found.low <= found.ratio * (1 + 1e-12) and found.ratio <= found.high * (1 + 1e-12)


@given(ENOUGH)
def test_an_arm_beside_itself_is_no_difference(values: list[float]) -> None:
    found = beside(values, values)
    assert (found.outcome, found.ratio) == ("no difference", 1)


@given(VALUES, VALUES)
def test_with_fewer_than_three_runs_nothing_is_known(one: list[float], first: list[float]) -> None:
    assume(min(len(one), len(first)) < LEAST_RUNS)
    found = beside(one, first)
    assert found.outcome == "unknown" and found.words.endswith("of fewer than 3 runs each")
    assert found.ratio == pytest.approx(median(one) / median(first))


@given(ENOUGH, st.lists(st.just(0.0) | POSITIVE, min_size=3, max_size=5).filter(lambda values: 0.0 in values))
def test_a_run_that_shows_nothing_makes_the_verdict_unknown(one: list[float], other: list[float]) -> None:
    for found in (beside(one, other), beside(other, one)):
        assert (found.outcome, found.ratio, found.low, found.high) == ("unknown", 0, 0, 0)
        assert found.words == "unknown: a run shows nothing"


@pytest.mark.parametrize(
    ("one", "first", "better", "words"),
    [
        ([200, 210, 190], [100, 100, 105], "higher", "better than first: 2.00x (1.81 to 2.10)"),
        ([200, 210, 190], [100, 100, 105], "lower", "worse than first: 2.00x (1.81 to 2.10)"),
        ([50, 52, 51], [100, 100, 105], "lower", "better than first: 0.51x (0.48 to 0.52)"),
        ([99, 98, 101], [100, 100, 105], "higher", "no difference: 0.99x (0.93 to 1.01), the spreads overlap"),
        ([100, 90, 95], [101, 100, 105], "higher", "no difference: 0.94x (0.86 to 1.00), the spreads overlap"),
        ([200, 210], [100, 100, 105], "higher", "unknown: 2.05x (1.90 to 2.10), of fewer than 3 runs each"),
    ],
)
def test_a_verdict_in_words(
    one: list[float], first: list[float], better: Literal["higher", "lower"], words: str
) -> None:
    assert beside(one, first, better).words == words
