from __future__ import annotations

from dataclasses import replace

from hypothesis import given

from kit.bench.html.tables import Table, arms_table, figures_table, memory_table, runs_table
from kit.bench.results import (
    Comparison,
    Experiment,
    MeasuredFootprint,
)
from kit.units import MIB
from tests.support.anybench import COMPARISONS
from tests.support.benches import EXAMPLE
from tests.support.benchparts import compared

BY_NAME = {experiment.name: experiment for experiment in EXAMPLE.experiments}


def comparison(experiment: str, n: int = 0) -> Comparison:
    found: Experiment = BY_NAME[experiment]
    return found.comparisons[n]


def lines(table: Table | None) -> list[str]:
    assert table
    return [" | ".join(f"{cell.strong} {cell.text}".strip() for cell in row) for row in table.rows]


def test_an_arm_has_its_median_its_spread_its_runs_and_its_verdict() -> None:
    table = arms_table(comparison("policy", 2))
    assert table.heads == ("arm", "median,\N{NO-BREAK SPACE}req/s", "least", "most", "runs", "verdict")
    assert lines(table) == [
        "round_robin | 46.3 | 45.8 | 46.9 | 3 | baseline",
        "cache_aware | 38.5 | 37.9 | 39.4 | 3 | 0.83x (0.81 to 0.86)",
        "random | 45.9 | 45.0 | 46.6 | 3 | no difference 0.99x (0.96 to 1.02)",
    ]
    assert [row[-1].finding for row in table.rows] == ["", "worse", "no difference"]


def test_an_arm_without_runs_and_one_without_a_verdict_are_unknown() -> None:
    whole = compared("x", "", "one 3 3 3 | two 5 5 5 | three 4 4 4")
    partial = replace(whole, arms=(*whole.arms[:2], replace(whole.arms[2], runs=())), verdicts=whole.verdicts[1:])
    assert lines(arms_table(partial))[1:] == [
        "two | 5.00 | 5.00 | 5.00 | 3 | unknown",
        "three | unknown | unknown | unknown | 0 | 1.33x (1.33 to 1.33)",
    ]


def test_a_curve_has_its_latencies_beside_it() -> None:
    table = arms_table(comparison("sweep"))
    assert table.heads[:2] == ("requests at once", "median,\N{NO-BREAK SPACE}tok/s") and "tok/s" not in table.heads
    assert {"goodput, req/s", "TTFT p50, ms", "TTFT p90, ms", "TPOT p99, ms", "failed"} <= set(table.heads)
    assert [row[0].text for row in table.rows] == ["1", "2", "4", "8", "16", "32", "48", "64"]
    assert figures_table(comparison("sweep")) is None


def test_what_else_was_measured_is_told_of_all_and_of_each_model() -> None:
    table = figures_table(comparison("mps"))
    assert table and [row[0].text for row in table.rows] == [
        "without", "without, chat", "without, small", "without, tiny",
        "with MPS", "with MPS, chat", "with MPS, small", "with MPS, tiny",
    ]  # fmt: skip
    ttft = table.heads.index("TTFT p50, ms")
    assert [row[ttft].text for row in table.rows[:2]] == ["unknown", "90.0"]


def test_a_comparison_about_one_model_tells_of_that_one_alone() -> None:
    both = compared("tiny", "", "alone 3 4 5 | beside 1 2 3", models="chat tiny")
    table = figures_table(both)
    assert table and [row[0].text for row in table.rows] == ["alone", "beside"]


def test_a_start_has_nothing_else() -> None:
    assert figures_table(comparison("startup")) is None


def test_every_run_is_listed_with_its_files() -> None:
    assert lines(runs_table(comparison("router", 1)))[-1] == (
        "waiting-router.2 | router | 2 | 12.8 | 31.4 | 600 | 0 | raw/waiting-router.2.json"
    )
    assert lines(runs_table(comparison("startup")))[0].split(" | ")[5:7] == ["unknown", "unknown"]


def test_memory_has_a_column_for_each_worker_and_the_sums_below() -> None:
    memory = (
        MeasuredFootprint("a", (("weights", 3 * MIB),), 4 * MIB),
        MeasuredFootprint("b", (("graphs", 5 * MIB),), None),
    )
    assert lines(memory_table(memory)) == [
        "weights | 3.0 MiB | none",
        "graphs | none | 5.0 MiB",
        "planned | 3.0 MiB | 5.0 MiB",
        "measured | 4.0 MiB | unknown",
        "planned / measured | -25.0% | unknown",
    ]


@given(COMPARISONS)
def test_tables_of_anything_are_full(any_: Comparison) -> None:
    assert all(cell.text for row in arms_table(any_).rows for cell in row[1:5])
    for table in (arms_table(any_), figures_table(any_), runs_table(any_)):
        for row in table.rows if table else ():
            assert len(row) == len(table.heads if table else ())
