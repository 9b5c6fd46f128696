"""Decisions about charts, as values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from pprint import pformat
from typing import TypeVar

from hypothesis import given

from kit.bench.html.charts import charts, figures_of
from kit.bench.html.chartspecs import Chart, Curves, Rows
from kit.bench.results import Arm, Bench, Comparison, Figures, Percentiles, Phase, Run
from tests.support.anybench import BENCHES
from tests.support.benches import EXAMPLE
from tests.support.benchparts import compared
from tests.support.paths import GOLDEN

HERE = GOLDEN / "bench" / "html"
Kind = TypeVar("Kind", bound=Chart)
EMPTY = replace(EXAMPLE, experiments=(), memory=())
FIGURES = Figures(100.0, 1.0, 9, 0)


def of_kind(bench: Bench, kind: type[Kind]) -> list[Kind]:
    return [one.chart for one in charts(bench) if isinstance(one.chart, kind)]


def about(*comparisons: Comparison) -> Bench:
    return replace(EMPTY, experiments=(replace(EXAMPLE.experiments[0], name="x", comparisons=comparisons),))


def at(x: float | None, value: float, figures: Figures | None = None) -> Arm:
    return Arm(str(x), (Run("k", 1, value, 1.0, {"chat": figures or FIGURES}),), value, value, value, x)


def curve(*arms: Arm, name: str = "chat", unit: str = "tok/s") -> Comparison:
    return Comparison(name, "", unit, "higher", arms, kind="curve", axis="requests at once")


def test_the_charts_of_a_whole_benchmark(golden: Callable[[Path, str], None]) -> None:
    said = (f"{one.experiment} {one.comparison}\n{pformat(one.chart, width=118)}\n" for one in charts(EXAMPLE))
    golden(HERE / "example-charts.txt", "\n".join(said))


@given(BENCHES)
def test_any_benchmark_has_charts_with_names_of_their_own_that_point_into_it(bench: Bench) -> None:
    placed = charts(bench)
    assert len({one.chart.name for one in placed}) == len(placed)
    for one in placed:
        assert one.chart.words
        if one.experiment is not None:
            comparisons = bench.experiments[one.experiment].comparisons
            assert one.comparison is None or comparisons[one.comparison].kind == "arms"
    assert charts(bench) == placed


# ---- curves


def test_a_line_goes_from_left_to_right_through_the_points_that_have_a_place_and_a_run() -> None:
    nowhere, endless, empty = at(None, 5.0), at(float("inf"), 5.0), replace(at(8.0, 5.0), runs=())
    (chart,) = of_kind(about(curve(at(4.0, 9.0), nowhere, endless, empty, at(1.0, 3.0))), Curves)
    (line,) = chart.panels[0].series
    assert [(point.x, point.y) for point in line.points] == [(1.0, 3.0), (4.0, 9.0)]
    assert chart.ticks == (1.0, 4.0)


def test_a_wide_axis_is_logarithmic_and_one_that_begins_at_nothing_is_not() -> None:
    wide, narrow, zero = (about(curve(at(x, 1.0), at(y, 2.0))) for x, y in ((1, 64), (2, 4), (0, 64)))
    assert [of_kind(bench, Curves)[0].log for bench in (wide, narrow, zero)] == [True, False, False]


def test_curves_of_one_unit_share_a_chart_and_a_model_keeps_its_colour_in_all() -> None:
    chat, tiny = curve(at(1, 1.0), at(2, 2.0)), curve(at(1, 5.0), at(2, 6.0), name="tiny")
    bench = about(chat, tiny, replace(tiny, unit="req/s"))
    both, single = of_kind(bench, Curves)
    assert [(line.name, line.place) for line in both.panels[0].series] == [("chat", 0), ("tiny", 1)]
    assert [(line.name, line.place) for line in single.panels[0].series] == [("tiny", 1)]


def test_goodput_is_drawn_where_the_runs_have_it_and_no_curve_is_about_it() -> None:
    good = replace(FIGURES, goodput=0.5)
    bench = about(curve(at(1, 1.0, good), at(2, 2.0, good)))
    assert [chart.caption for chart in of_kind(bench, Curves)][1:] == ["req/s within the SLO over requests at once"]
    own = curve(at(1, 1.0, good), at(2, 2.0, good), unit="req/s within the SLO")
    assert len(of_kind(about(own), Curves)) == 1


def test_latency_has_a_panel_for_each_that_is_known_logarithmic_when_steep() -> None:
    steep = replace(FIGURES, ttft=Percentiles(1.0, 5.0, 90.0))
    latency = of_kind(about(curve(at(1, 1.0, steep), at(2, 2.0))), Curves)[1]
    assert [(panel.title, panel.log) for panel in latency.panels] == [("time to the first token (TTFT), ms", True)]
    assert [(line.name, [point.x for point in line.points]) for line in latency.panels[0].series] == [
        ("p50", [1]), ("p90", [1]), ("p99", [1]),
    ]  # fmt: skip


def test_figures_are_the_model_s_or_those_of_all_or_of_the_only_one() -> None:
    other = replace(FIGURES, tokens=7.0)
    both = Run("k", 1, 1.0, 1.0, {"chat": FIGURES, "tiny": other}, total=replace(FIGURES, tokens=107.0))
    assert [getattr(figures_of(both, name), "tokens", None) for name in ("tiny", "sum")] == [7.0, 107.0]
    assert figures_of(Run("k", 1, 1.0, 1.0, {"chat": FIGURES}), "prefill") == FIGURES
    assert figures_of(Run("k", 1, 1.0, 1.0), "chat") is None


# ---- arms


def test_an_arm_that_nobody_knows_keeps_its_row_and_no_bar_is_invented() -> None:
    whole = compared("x", "", "one 3 3 3 | two 5 5 5")
    (chart,) = of_kind(about(replace(whole, arms=(whole.arms[0], replace(whole.arms[1], runs=())))), Rows)
    assert [(row.name, row.value, [part.end for part in row.parts], row.runs) for row in chart.rows] == [
        ("one", "3.00 tok/s", [3.0], (3.0, 3.0, 3.0)),
        ("two", "unknown", [], ()),
    ]
    assert "two: unknown" in chart.words


def test_without_any_known_arm_there_is_no_chart() -> None:
    whole = compared("x", "", "one 3 3 3")
    assert not charts(about(replace(whole, arms=(replace(whole.arms[0], runs=()),))))
    assert not charts(about(replace(whole, arms=())))


def test_a_start_is_drawn_by_its_run_in_the_middle() -> None:
    runs = tuple(
        Run("k", n, value, 1.0, phases=(Phase("chat", 0.0, value),)) for n, value in enumerate((9.0, 4.0, 5.0))
    )
    comparison = Comparison("cold", "", "s", "lower", (Arm("parallel", runs, 5.0, 4.0, 9.0),))
    _, chart = of_kind(about(comparison), Rows)
    assert [(row.name, row.value, [part.end for part in row.parts]) for row in chart.rows] == [
        ("parallel", "5.00 s", []),
        ("chat", "5.00 s", [5.0]),
    ]


def test_a_service_has_the_same_colour_in_every_start() -> None:
    def arm(name: str, *services: str) -> Arm:
        phases = tuple(Phase(service, 0.0, 5.0) for service in services)
        return Arm(name, (Run("k", 1, 5.0, 1.0, phases=phases),), 5.0, 5.0, 5.0)

    comparison = Comparison(
        "cold", "", "s", "lower", (arm("one", "chat", "tiny"), arm("two", "tiny", "router", "chat"))
    )
    rows = of_kind(about(comparison), Rows)[1].rows
    places = {(part.name, part.place) for row in rows for part in row.parts}
    assert places == {("chat", 0), ("tiny", 1), ("router", 2)}


def test_a_phase_that_ends_before_it_begins_is_not_drawn() -> None:
    run = Run("k", 1, 5.0, 1.0, phases=(Phase("odd", 3.0, 1.0), Phase("good", 1.0, 3.0)))
    comparison = Comparison("cold", "", "s", "lower", (Arm("parallel", (run,), 5.0, 5.0, 5.0),))
    assert [row.name for row in of_kind(about(comparison), Rows)[1].rows] == ["parallel", "good"]


def test_a_benchmark_without_memory_has_no_chart_of_it() -> None:
    assert not charts(EMPTY)
