from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.bench.analyze import experiment, fairness, jain, value_of
from kit.bench.design import Metric, Protocol, schedule
from kit.bench.journal import RunDone
from kit.bench.results import Experiment, Figures, Percentiles
from tests.support.benchrequests import bench_request, protocols

ALL = protocols(bench_request())
FAST = Figures(100.0, 10.0, 80, 0, 9.0, Percentiles(5, 6, 7), Percentiles(1, 2, 3), Percentiles(50, 60, 70))


def ran(key: str, tokens: float = 100.0, models: tuple[str, ...] = ("chat",), failed: int = 0) -> RunDone:
    figures = replace(FAST, tokens=tokens, failed=failed)
    raw, commands = (f"raw/{key}.json",), (f"vllm bench serve {key}",)
    return RunDone(key, "d", 9.0, 8.0, models=dict.fromkeys(models, figures), raw=raw, commands=commands)


def done(protocol: Protocol, upto: int | None = None) -> dict[str, RunDone]:
    """The first runs of a protocol, with the models that they load."""
    steps = list(schedule(protocol))[:upto]
    models = {step.key: tuple(load.name for load in step.trial.loads) for step in steps}
    return {key: replace(ran(key, models=named), started=3.0 if not named else None) for key, named in models.items()}


# ---- partial records


@pytest.mark.parametrize("name", ALL)
def test_everything_that_was_run_is_in_its_arm(name: str) -> None:
    protocol = ALL[name]
    found = experiment(protocol, done(protocol))
    views = [view for view in protocol.views if view.value.figure != "goodput"]
    assert [c.name for c in found.comparisons] == [view.name for view in views]
    for view, comparison in zip(views, found.comparisons, strict=True):
        assert [arm.name for arm in comparison.arms] == [name for name, _, _ in view.arms]
        assert [arm.x for arm in comparison.arms] == [x for _, _, x in view.arms]
        assert {len(arm.runs) for arm in comparison.arms} == {protocol.rounds * protocol.inner}
        assert len(comparison.verdicts) == (len(comparison.arms) - 1 if comparison.kind == "arms" else 0)


@pytest.mark.parametrize("name", ALL)
def test_of_a_half_done_experiment_there_is_what_was_done(name: str) -> None:
    protocol = ALL[name]
    steps = list(schedule(protocol))
    for upto in range(len(steps) + 1):
        known = done(protocol, upto)
        found = experiment(protocol, known)
        keys = {run.key for c in found.comparisons for arm in c.arms for run in arm.runs}
        assert keys == known.keys()
        assert all(arm.runs for c in found.comparisons for arm in c.arms)


def test_without_a_run_there_is_the_question_and_what_is_held() -> None:
    protocol = ALL["router"]
    assert experiment(protocol, {}) == Experiment(
        "router", protocol.question, protocol.varies, protocol.constant, (), protocol.remarks
    )


def test_without_the_first_arm_nothing_is_compared_with_it() -> None:
    protocol = ALL["memory-share"]
    found = experiment(protocol, {"memory-share.part.1": ran("memory-share.part.1")})
    (comparison,) = found.comparisons
    assert [arm.name for arm in comparison.arms] == ["30% of it"] and comparison.verdicts == ()


def test_one_run_of_each_is_no_verdict_yet_and_three_are() -> None:
    protocol = ALL["router"]
    early = experiment(protocol, done(protocol, 4)).comparisons[0].verdicts[0]
    late = experiment(protocol, done(protocol)).comparisons[0].verdicts[0]
    assert (early.outcome, late.outcome) == ("unknown", "no difference")


def test_runs_of_other_experiments_are_not_taken() -> None:
    found = experiment(ALL["router"], done(ALL["prefix"]) | done(ALL["sweep"]))
    assert found.comparisons == ()


def test_a_run_keeps_its_files_commands_and_figures() -> None:
    protocol = ALL["contention"]
    key = "contention.together.1"
    (run,) = experiment(protocol, {key: ran(key, models=("chat", "small", "tiny"))}).comparisons[0].arms[0].runs
    assert (run.raw, run.commands) == ((f"raw/{key}.json",), (f"vllm bench serve {key}",))
    assert run.models.keys() == {"chat", "small", "tiny"} and run.total and run.total.tokens == 300
    assert (run.value, run.seconds, run.round) == (100, 9, 1)


def test_a_run_of_one_model_has_no_sum() -> None:
    (run,) = experiment(ALL["router"], {"router.direct-1.1": ran("router.direct-1.1")}).comparisons[0].arms[0].runs
    assert run.total is None


# ---- the value of a run


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (Metric("tokens"), 200.0),
        (Metric("tokens", "chat"), 100.0),
        (Metric("requests"), 20.0),
        (Metric("goodput", "chat"), 9.0),
        (Metric("ttft.p99", "chat"), 7.0),
        (Metric("e2el.p50", "chat"), 50.0),
        (Metric("ttft.p99"), None),  # latencies of several models are not mixed
        (Metric("tokens", "nobody"), None),
        (Metric("seconds"), None),
    ],
)
def test_what_a_comparison_takes_from_a_run(value: Metric, found: float | None) -> None:
    assert value_of(ran("a.b.1", models=("chat", "embed")), value) == found


def test_a_start_s_value_is_its_seconds() -> None:
    assert value_of(RunDone("start.x.1", "d", 9.0, started=8.5), Metric("seconds")) == 8.5
    assert value_of(RunDone("start.x.1", "d", 9.0, started=8.5), Metric("tokens")) is None


# ---- remarks


def test_requests_that_failed_are_said() -> None:
    known = {f"router.direct-1.{n}": ran(f"router.direct-1.{n}", failed=n) for n in (1, 2)}
    assert experiment(ALL["router"], known).remarks == ("3 of 163 requests failed",)


@pytest.mark.parametrize(
    ("overlaps", "said"),
    [
        ((1.0, 0.97, None), ()),
        ((None, None), ()),
        ((0.9, 0.42, 0.5), ("in one run the models were loaded side by side for 42% of the time only",)),
    ],
)
def test_models_that_were_not_loaded_side_by_side_are_said(
    overlaps: tuple[float | None, ...], said: tuple[str, ...]
) -> None:
    names = ("chat", "small", "tiny")
    keys = [f"contention.together.{n + 1}" for n in range(len(overlaps))]
    known = {key: replace(ran(key, models=names), overlap=one) for key, one in zip(keys, overlaps, strict=True)}
    alone = replace(ran("contention.alone-chat.1"), overlap=0.1)
    assert experiment(ALL["contention"], known | {alone.key: alone}).remarks == said


def used(key: str, seconds: float, **cpu: float) -> dict[str, RunDone]:
    """8 s of 100 tokens a second."""
    return {key: replace(ran(key), sending=seconds, cpu=cpu)}


def test_what_the_router_takes_of_the_cores_is_said_where_it_is_known() -> None:
    known = (
        used("router.through-32.1", 8.0, router=0.4, chat=8.0, small=0.4)
        | used("router.through-32.2", 8.0, router=0.8, chat=10.0)
        | used("router.through-32.3", 8.0, router=4.0, front=4.0, chat=16.0)
        | used("router.direct-32.1", 8.0, router=0.1, chat=8.0)
        | used("router.through-1.1", 8.0, chat=8.0)
    )
    assert experiment(ALL["router"], known).remarks == (
        "32 at once: for each token the router used 1.000 ms of CPU and the workers 12.500; that is 0.10 cores for the"
        " router",
    )


def test_of_other_experiments_the_router_s_cores_are_not_said() -> None:
    known = used("sweep.chat-1.1", 8.0, router=0.4, chat=8.0)
    assert experiment(ALL["sweep"], known).remarks == ()


def test_what_the_protocol_remarks_stays() -> None:
    protocol = replace(ALL["router"], remarks=("something is left out",))
    assert experiment(protocol, done(protocol)).remarks == ("something is left out",)


def test_how_evenly_models_lose_is_said_for_together_alone() -> None:
    known = {
        f"contention.{key}.{n}": ran(f"contention.{key}.{n}", tokens, tuple(models.split()))
        for n in (1, 2, 3)
        for key, tokens, models in (
            ("alone-chat", 100, "chat"), ("alone-small", 100, "small"), ("alone-tiny", 100, "tiny"),
            ("together", 50, "chat small tiny"),
        )
    }  # fmt: skip
    found = experiment(ALL["contention"], known)
    assert found.remarks == ("fairness 1.000 (Jain's index of what each model keeps of its speed; 1 is even)",)
    assert fairness(replace(found, name="sweep")) == ()


def test_of_one_model_there_is_no_fairness() -> None:
    found = experiment(ALL["contention"], done(ALL["contention"], 3))
    assert found.remarks == ()


SHARES = st.lists(st.floats(0.01, 2), min_size=1, max_size=8)


@given(SHARES)
def test_jain_s_index_lies_between_one_model_having_all_and_all_alike(shares: list[float]) -> None:
    assert 1 / len(shares) - 1e-9 <= jain(shares) <= 1 + 1e-9


@given(st.floats(0.01, 2), st.integers(1, 8))
def test_jain_s_index_of_equal_shares_is_one(share: float, count: int) -> None:
    assert jain([share] * count) == pytest.approx(1)
    assert jain([share, *[0.0] * (count - 1)]) == pytest.approx(1 / count)


@given(SHARES, st.floats(0.1, 10))
def test_jain_s_index_has_no_unit(shares: list[float], scale: float) -> None:
    assert jain([share * scale for share in shares]) == pytest.approx(jain(shares))
