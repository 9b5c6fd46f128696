from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.bench.design import (
    AS_GIVEN,
    StackVariant,
    Trial,
)
from kit.bench.load import (
    LoadSpec,
    Prompts,
)
from kit.bench.sizing import (
    MOST_PROCESSES,
    WORTH_SPLITTING,
    Size,
    expected_seconds,
    first_pilot,
    may_split,
    more,
    next_processes,
    sized,
    timed,
)
from kit.bench.vllm_results import LEAST_SECONDS
from kit.manifest.model import Manifest
from tests.support.planning import model

HERE = StackVariant(AS_GIVEN, Manifest.model_validate({"name": "test", "models": [model()]}))
RATES = st.floats(0.05, 500)
CONCURRENCY = st.sampled_from([1, 2, 8, 16, 32, 48, 256])


def load(concurrency: int = 8, **more: float) -> LoadSpec:
    return LoadSpec("chat", "chat", "generate", Prompts(64, 16), concurrency, 0, **more)  # type: ignore[arg-type]


def trial(*loads: LoadSpec, key: str = "a", seconds: float = 8, group: str = "") -> Trial:
    return Trial(key, HERE, loads, seconds, group)


def counts(of: Trial) -> list[int]:
    return [one.count for one in of.loads]


def test_a_group_on_two_stacks_sends_what_was_found_on_the_first() -> None:
    there = StackVariant("another", HERE.manifest)
    first, second = trial(load(8), key="a", group="g"), replace(trial(load(8), key="b", group="g"), variant=there)
    alone = {"a": Size((100.0,), (2,))}
    both = alone | {"b": Size((10.0,), (4,))}
    for one in (first, second):
        assert sized(one, both, (first, second)).loads == sized(first, alone, (first, second)).loads
    beside = replace(second, variant=HERE)
    assert counts(sized(first, both, (first, beside))) == [80]
    assert counts(sized(second, {"b": Size((10.0,), (1,))}, (first, second))) == [80]


def test_a_look_is_taken_again_when_it_was_too_short_or_its_processes_too_few() -> None:
    two = trial(load(48, processes=1), load(8, processes=1))
    assert next_processes(two, LEAST_SECONDS / 2, (True, True), 32) == (1, 1)
    assert next_processes(two, LEAST_SECONDS, (True, True), 32) == (2, 1)
    assert next_processes(two, LEAST_SECONDS, (False, True), 32) is None
    assert next_processes(two, LEAST_SECONDS, (True, True), 2) is None


def test_a_first_look_takes_every_place_twice() -> None:
    assert counts(first_pilot(trial(load(1), load(8), load(48)))) == [4, 16, 96]
    assert [one.processes for one in first_pilot(trial(load(8, processes=3), load(48))).loads] == [1, 1]


def test_a_first_look_at_a_rate_lasts_two_seconds_whatever_the_concurrency() -> None:
    assert counts(first_pilot(trial(load(256, rate=1), load(256, rate=10)))) == [4, 20]


def test_a_second_look_lasts_its_seconds_at_the_rate_that_was_found() -> None:
    pilot = timed(trial(load(8), load(8)), Size((20.0, 2.0), (3, 1)), 2.0)
    assert counts(pilot) == [40, 16] and [one.processes for one in pilot.loads] == [3, 1]


@given(CONCURRENCY, RATES, st.floats(0.5, 20))
def test_a_run_lasts_its_seconds_or_as_long_as_every_place_is_taken_twice(
    concurrency: int, rate: float, seconds: float
) -> None:
    one = trial(load(concurrency), seconds=seconds)
    made = sized(one, {"a": Size((rate,), (1,))}, [one])
    told = expected_seconds(made, Size((rate,), (1,)))
    assert told >= seconds * (1 - 1e-9)
    assert made.loads[0].count < rate * seconds + 1 or made.loads[0].count == max(2 * concurrency, 4)


@given(CONCURRENCY, st.floats(0.5, 100), RATES, st.floats(1, 20))
def test_a_run_at_a_rate_lasts_its_seconds(concurrency: int, rate: float, found: float, seconds: float) -> None:
    one = trial(load(concurrency, rate=rate), seconds=seconds)
    count = sized(one, {"a": Size((found,), (1,))}, [one]).loads[0].count
    assert count <= max(rate * seconds + 1, rate * 2 + 1, 4)


def test_a_count_that_the_protocol_fixed_stays() -> None:
    one = trial(replace(load(8), count=39), seconds=0)
    assert sized(one, {}, [one]) == one


@given(st.lists(st.tuples(RATES, st.integers(1, 8)), min_size=2, max_size=4))
def test_trials_of_a_group_are_alike_and_the_slowest_takes_the_seconds(found: list[tuple[float, int]]) -> None:
    trials = [trial(load(1), key=f"t{n}", group="g") for n in range(len(found))]
    other = trial(load(1), key="other", group="h")
    sizes = {f"t{n}": Size((rate,), (processes,)) for n, (rate, processes) in enumerate(found)}
    sizes["other"] = Size((0.01,), (8,))
    made = [sized(one, sizes, [*trials, other]) for one in trials]
    assert len({one.loads for one in made}) == 1
    assert made[0].loads[0].processes == max(processes for _, processes in found)
    slowest = min(range(len(found)), key=lambda n: found[n][0])
    assert made[0].loads == sized(trials[slowest], sizes, [trials[slowest]]).loads or len({p for _, p in found}) > 1


def test_a_trial_of_no_group_is_sized_by_itself() -> None:
    one, other = trial(load(1), key="a"), trial(load(1), key="b")
    sizes = {"a": Size((10.0,), (1,)), "b": Size((1.0,), (1,))}
    assert [counts(sized(t, sizes, [one, other])) for t in (one, other)] == [[80], [8]]


def test_how_long_a_trial_sends_is_its_slowest_load_s() -> None:
    one = trial(replace(load(), count=80), replace(load(), count=30))
    assert expected_seconds(one, Size((10.0, 2.0), (1, 1))) == 15


@given(CONCURRENCY, st.integers(1, MOST_PROCESSES), st.integers(0, 128))
def test_more_processes_are_as_many_as_cores_and_requests_allow(concurrency: int, now: int, cores: int) -> None:
    wanted = more(replace(load(concurrency), processes=now), cores)
    if concurrency < WORTH_SPLITTING:
        assert wanted == now
    assert 1 <= wanted <= max(MOST_PROCESSES, now) and wanted <= 2 * now
    if concurrency >= WORTH_SPLITTING:
        assert wanted <= max(cores // 2, 1) and wanted * 4 <= concurrency


@pytest.mark.parametrize(("concurrency", "cores", "steps"), [(48, 16, [2, 4, 8, 8]), (16, 16, [2, 4, 4, 4])])
def test_processes_are_doubled(concurrency: int, cores: int, steps: list[int]) -> None:
    found, one = [], load(concurrency)
    for _ in steps:
        one = replace(one, processes=more(one, cores))
        found.append(one.processes)
    assert found == steps


def test_only_a_trial_of_many_requests_at_once_may_need_more_than_one_process() -> None:
    assert may_split(trial(load(1), load(WORTH_SPLITTING))) and not may_split(trial(load(WORTH_SPLITTING - 1)))
