from __future__ import annotations

from dataclasses import replace
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.bench.design import (
    BenchRequest,
    Protocol,
    StackVariant,
    Step,
    schedule,
)
from kit.bench.estimate import (
    A_TURN,
    AROUND,
    COLD,
    FIXED,
    PILOT,
    ROUTER,
    around,
    left,
    observations,
    only_router,
    start_seconds,
    turns,
)
from kit.bench.journal import (
    PilotDone,
    Record,
    RunDone,
    StackStarted,
)
from kit.bench.sizing import PILOT_SECONDS, Size, may_split
from tests.support.benchrequests import bench_request, bench_requests, protocols

ALL = list(protocols(bench_request()).values())
STEPS = [(one, step) for one in ALL for step in schedule(one)]
# A rate at which a run's seconds are a whole number of requests, far more than are sent at once.
FAST = 1000.0


def test_there_is_something_of_every_kind_to_tell() -> None:
    kinds = {(step.trial.variant.recreate, bool(step.trial.seconds)) for _, step in STEPS}
    assert kinds == {(False, True), (False, False), (True, False)}


def ran(step: Step, seconds: float = 1.0) -> RunDone:
    return RunDone(step.key, "d", seconds)


def test_when_all_is_done_nothing_is_left() -> None:
    records = [ran(step) for _, step in STEPS]
    assert left(ALL, observations(records), None) == 0
    assert left([], observations([]), None) == 0


@given(st.sets(st.integers(0, len(STEPS) - 1)), st.data())
def test_what_is_left_is_never_negative_and_is_nothing_only_at_the_end(done: set[int], data: st.DataObject) -> None:
    records: list[Record] = [ran(STEPS[n][1], data.draw(st.floats(0.1, 100))) for n in sorted(done)]
    now = data.draw(st.sampled_from([None, *(step.trial.variant for _, step in STEPS)]))
    found = left(ALL, observations(records), now)
    assert found >= 0 and (found == 0) == (len(done) == len(STEPS))


def took(step: Step, protocol: Protocol, now: StackVariant | None, looked: set[str]) -> tuple[list[Record], float]:
    """A step that takes exactly what is assumed of it: what is written down, and its seconds."""
    trial, records, seconds = step.trial, list[Record](), 0.0
    workers, start = sum(model.replicas for model in trial.variant.manifest.models), A_TURN * turns(trial.variant, 1)
    if trial.variant.recreate:
        return [replace(ran(step, start), started=1.0)], start
    if now is None or now.key != trial.variant.key:
        near = now is not None and not now.recreate and only_router(now, trial.variant)
        seconds += ROUTER if near else start
        records.append(StackStarted(trial.variant.key, seconds, 0 if near else workers, turns(trial.variant, 1)))
    name = f"{protocol.name}.{trial.key}"
    if trial.seconds and name not in looked:
        looked.add(name)
        seconds += PILOT + (PILOT_SECONDS + AROUND if may_split(trial) else 0)
        size = Size((FAST,) * len(trial.loads), (1,) * len(trial.loads))
        records.append(PilotDone(name, "d", size, 1.0, AROUND))
    sending = trial.seconds or FIXED
    return [*records, replace(ran(step, sending + AROUND), sending=sending)], seconds + sending + AROUND


@pytest.mark.parametrize(
    "names", [["router", "sweep"], ["policy"], ["memory-share", "startup"], ["mps", "router", "memory-share"]]
)
def test_when_everything_takes_what_is_assumed_it_takes_what_was_told(names: list[str]) -> None:
    mine = [one for one in ALL if one.name in names]
    records: list[Record] = []
    told = before = left(mine, observations(records), None)
    now, looked, spent = None, set[str](), 0.0
    for protocol, step in chain.from_iterable(((one, step) for step in schedule(one)) for one in mine):
        more, seconds = took(step, protocol, now, looked)
        records += more
        now, spent = step.trial.variant, spent + seconds
        after = left(mine, observations(records), now)
        assert after == pytest.approx(told - spent, abs=1e-6)
        assert after < before
        before = after
    assert before == pytest.approx(0, abs=1e-6) and spent == pytest.approx(told)


@given(bench_requests())
def test_any_benchmark_can_be_told_before_it_begins(made: BenchRequest) -> None:
    everything = list(protocols(made).values())
    told = [left([one], observations([]), None) for one in everything]
    assert all((seconds > 0) == bool(one.trials) for seconds, one in zip(told, everything, strict=True))


def test_a_stack_that_stands_need_not_start() -> None:
    mine = [one for one in ALL if one.name == "router"]
    given = mine[0].trials[0].variant
    assert left(mine, observations([]), None) - left(mine, observations([]), given) == 3 * A_TURN


def test_what_was_seen_counts_more_than_what_was_assumed() -> None:
    (router,) = (one for one in ALL if one.name == "router")
    variant = router.trials[0].variant
    assert start_seconds(variant, observations([])) == 3 * A_TURN
    other = StackStarted("another", 20, 2, 2.0)
    assert start_seconds(variant, observations([other])) == 30
    mine = [StackStarted(variant.key, 50, 3, 3.0), StackStarted(variant.key, 9, 0)]
    assert start_seconds(variant, observations([other, *mine])) == 50
    slow = [RunDone(f"router.{trial.key}.1", "d", 100.0) for trial in router.trials]
    assert left([router], observations(slow), variant) > left(
        [router], observations([replace(one, seconds=10.0) for one in slow]), variant
    )


@pytest.mark.parametrize(
    ("start", "cores", "told"),
    [
        ("sequential", 64, 3), ("parallel", 64, 1), ("parallel", 6, 1), ("parallel", 4, 1.5), ("parallel", 2, 3),
        ("parallel", 1, 3),
    ],
)  # fmt: skip
def test_workers_that_start_at_once_take_turns_where_cores_are_few(start: str, cores: int, told: float) -> None:
    variant = bench_request().given
    mine = replace(variant, manifest=variant.manifest.model_copy(update={"start": start}))
    assert len(mine.manifest.models) == 3 and turns(mine, cores) == told
    assert start_seconds(mine, observations([StackStarted("another", 20, 2, 2.0)], cores)) == 10 * told
    assert start_seconds(replace(mine, cold=True), observations([], cores)) == pytest.approx(A_TURN * COLD * told)


def test_a_run_at_another_rate_is_not_taken_for_this_one() -> None:
    sweep = protocols(bench_request(rates=(1, 1.5), profile="quick"))["sweep"]
    variant = sweep.trials[0].variant
    slow = left([sweep], observations([RunDone("sweep.chat-1.5.1", "d", 1000.0)]), variant)
    assert 2000 < slow < 2000 + left([sweep], observations([]), variant)  # the two more runs at 1.5, and not those at 1


def test_the_time_beside_a_load_is_that_of_the_runs_else_of_the_looks() -> None:
    pilot = PilotDone("router.direct-1", "d", Size((1.0,), (1,)), 9.0, 4.0)
    run = RunDone("router.direct-1.1", "d", 9.0, 8.0)
    assert [around(observations(records)) for records in ([], [pilot], [pilot, run])] == [AROUND, 4, 1]
