from __future__ import annotations

from collections import Counter
from itertools import groupby

from hypothesis import given
from hypothesis import strategies as st

from kit.bench.design import (
    AS_GIVEN,
    EFFORTS,
    BenchRequest,
    Protocol,
    StackVariant,
    Trial,
    schedule,
    step_id,
)
from kit.manifest.model import Manifest
from tests.support.benchrequests import bench_request, bench_requests, protocols
from tests.support.planning import model

MANIFEST = Manifest.model_validate({"name": "test", "models": [model()]})
HERE, THERE = StackVariant(AS_GIVEN, MANIFEST), StackVariant("there", MANIFEST)


def protocol(trials: list[tuple[str, StackVariant]], rounds: int = 3, inner: int = 1) -> Protocol:
    made = tuple(Trial(key, variant) for key, variant in trials)
    return Protocol("test", "?", "x", (), made, (), rounds, inner)


def order(of: Protocol) -> str:
    return " ".join(step.trial.key for step in schedule(of))


@st.composite
def some(draw: st.DrawFn) -> Protocol:
    """Any trials on any variants."""
    keys = draw(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=6, unique=True))
    variants = [draw(st.sampled_from([HERE, THERE])) for _ in keys]
    return protocol(list(zip(keys, variants, strict=True)), draw(st.integers(1, 4)), draw(st.integers(1, 3)))


def test_two_trials_on_one_stand_take_turns() -> None:
    assert order(protocol([("a", HERE), ("b", HERE)])) == "a b a b a b"


def test_two_stands_take_turns_with_their_inner_runs_together() -> None:
    assert order(protocol([("a", HERE), ("b", THERE)], rounds=2, inner=2)) == "a a b b a a b b"
    assert order(protocol([("a", HERE), ("b", THERE), ("c", HERE)], rounds=2)) == "a c b a c b"


def test_runs_are_numbered_by_their_trial() -> None:
    keys = [step.key for step in schedule(protocol([("a", HERE), ("b", THERE)], rounds=1, inner=2))]
    assert keys == ["test.a.1", "test.a.2", "test.b.1", "test.b.2"]


@given(some())
def test_every_trial_runs_as_often_as_it_should_and_no_key_comes_twice(made: Protocol) -> None:
    steps = list(schedule(made))
    assert Counter(step.trial.key for step in steps) == {t.key: made.rounds * made.inner for t in made.trials}
    assert len({step.key for step in steps}) == len(steps)
    for trial in made.trials:
        numbers = [step.round for step in steps if step.trial == trial]
        assert numbers == list(range(1, made.rounds * made.inner + 1))


@given(some())
def test_a_stack_is_brought_up_once_a_round_at_most(made: Protocol) -> None:
    variants = [key for key, _ in groupby(step.trial.variant.key for step in schedule(made))]
    several = len({trial.variant.key for trial in made.trials}) > 1
    assert Counter(variants) == {t.variant.key: made.rounds if several else 1 for t in made.trials}


@given(bench_requests())
def test_a_run_s_name_is_a_file_s_name_of_its_own(made: BenchRequest) -> None:
    steps = [step for one in protocols(made).values() for step in schedule(one)]
    names = [step_id(step) for step in steps]
    assert len(set(names)) == len(steps)
    assert all(set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789.-_") for name in (n.lower() for n in names))


def test_names_at_rates_that_begin_alike_are_apart() -> None:
    made = protocols(bench_request(rates=(1, 1.5, 15, 1e7)))["sweep"]
    names = [step_id(step) for step in schedule(made)]
    assert len(set(names)) == len(names) == 4 * 4 * 3


def test_every_effort_but_the_quickest_repeats_enough_for_a_verdict() -> None:
    for effort in EFFORTS.values():
        assert min(effort.rounds, effort.restarts * effort.inner) >= 3
    assert min(EFFORTS["standard"].starts, EFFORTS["full"].starts) >= 3


def test_a_wish_s_own_stand_is_its_manifest() -> None:
    made = bench_request()
    assert (made.given.key, made.given.manifest, made.manifest) == (AS_GIVEN, made.plan.manifest, made.plan.manifest)
