from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from kit.bench.html.answers import MOST, answers, finding, peak, summary, tallies
from kit.bench.results import (
    Comparison,
    Conclusion,
    Experiment,
)
from tests.support.anybench import EXPERIMENTS
from tests.support.benches import EXAMPLE
from tests.support.benchparts import Better, compared

BY_NAME = {experiment.name: experiment for experiment in EXAMPLE.experiments}


def said(name: str) -> list[str]:
    return [f"{one.strong} {one.spread} {one.subject}".replace("  ", " ") for one in summary(BY_NAME[name])]


def test_a_difference_is_a_ratio_with_its_range_and_the_medians_behind_it() -> None:
    assert said("mps") == ["1.23x (1.17 to 1.31) all models: with MPS 27,110 against without 22,102 tok/s"]


def test_no_difference_and_what_is_unknown_are_said_so_with_what_was_seen() -> None:
    assert said("memory-share") == [
        "no difference 0.99x (0.98 to 1.01) chat: 30% of the card 12,766 against all of the card 12,838 tok/s"
    ]
    assert said("router")[1] == (
        "unknown 1.16x (1.11 to 1.19), of fewer than 3 runs each waiting: router 12.9 against direct 11.2 ms"
    )


def test_a_curve_is_told_by_its_best_point() -> None:
    assert said("sweep")[0] == "8,174 tok/s chat, 64 requests at once"
    curve = BY_NAME["sweep"].comparisons[0]
    best = peak(replace(curve, better="lower"))
    assert best and best.subject == "chat, 1 requests at once"
    assert peak(replace(curve, arms=())) is None


def test_of_many_verdicts_the_largest_each_way_is_told_and_how_many_more_there_are() -> None:
    assert said("policy") == [
        "1.03x (1.01 to 1.06) medium: cache_aware 55.2 against round_robin 53.4 req/s",
        "0.83x (0.81 to 0.86) large: cache_aware 38.5 against round_robin 46.3 req/s",
        " 4 more below",
    ]


def test_an_experiment_that_was_left_out_says_why() -> None:
    left_out = Experiment("mps", "?", "gpu.mps", (), (), ("MPS shares a card, and this stack has none",))
    assert [(one.strong, one.subject) for one in summary(left_out)] == [("not measured", left_out.remarks[0])]


def test_an_arm_that_was_measured_alone_is_told_though_there_is_nothing_to_compare_it_with() -> None:
    alone = Experiment("startup", "?", "order", (), (compared("cold start", "", "sequential 319", "s"),))
    assert [(one.strong, one.subject) for one in summary(alone)] == [("319 s", "cold start: sequential, not compared")]


@pytest.mark.parametrize(
    ("ratio", "better", "found"),
    [(2.0, "higher", "better"), (0.5, "higher", "worse"), (2.0, "lower", "worse"), (0.5, "lower", "better")],
)
def test_more_is_better_or_worse_as_the_comparison_says(ratio: float, better: Better, found: str) -> None:
    comparison = Comparison("x", "", "ms", better, ())
    assert finding(Conclusion("a", "difference", ratio, ratio, ratio, ""), comparison) == found


@pytest.mark.parametrize("ratio", [0.0, float("nan"), float("inf"), -1.0])
def test_a_ratio_that_is_none_is_unknown_and_never_a_difference(ratio: float) -> None:
    comparison = Comparison("x", "", "ms", "higher", (), (Conclusion("a", "difference", ratio, 0.0, 0.0, "odd"),))
    assert [(one.finding, one.spread) for one in answers(comparison)] == [("unknown", "odd")]


def test_an_arm_without_runs_has_no_median() -> None:
    whole = compared("x", "", "one 3 3 3 | two 5 5 5")
    partial = replace(whole, arms=(whole.arms[0], replace(whole.arms[1], runs=())))
    assert answers(partial)[0].subject == "x: two unknown against one 3.00 tok/s"


def test_verdicts_are_counted_by_what_they_say() -> None:
    assert tallies(BY_NAME["policy"]) == {"better": 2, "worse": 2, "no difference": 2}
    assert tallies(BY_NAME["sweep"]) == {}


@given(EXPERIMENTS)
def test_any_experiment_has_a_short_answer_and_counts_each_verdict_once(experiment: Experiment) -> None:
    lines = summary(experiment)
    assert 1 <= len(lines) <= 2 * (MOST + 1)
    verdicts = [verdict for comparison in experiment.comparisons for verdict in comparison.verdicts]
    assert sum(tallies(experiment).values()) == len(verdicts)
