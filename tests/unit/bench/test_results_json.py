from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.bench.results import Bench, ResultsError, from_text, to_text
from tests.support.anybench import BENCHES
from tests.support.benches import EXAMPLE

PLACE = "bench/bench.json"


def same(one: Bench, other: Bench) -> bool:
    """Equal, where NaN equals NaN: both print alike."""
    return repr(one) == repr(other)


def test_the_example_comes_back_as_it_was() -> None:
    assert from_text(to_text(EXAMPLE), PLACE) == EXAMPLE


@given(BENCHES)
def test_any_benchmark_comes_back_as_it_was(bench: Bench) -> None:
    text = to_text(bench)
    json.loads(text, parse_constant=pytest.fail)
    back = from_text(text, PLACE)
    assert same(back, bench) and to_text(back) == text


def changed(change: Callable[[Any], object]) -> str:
    data = json.loads(to_text(EXAMPLE))
    change(data)
    return json.dumps(data)


def refused(text: str) -> str:
    with pytest.raises(ResultsError) as caught:
        from_text(text, PLACE)
    assert caught.value.exit_code == 2
    return str(caught.value)


ARM = "experiments[1].comparisons[0].arms[0]"


def arm(data: Any) -> Any:
    return data["experiments"][1]["comparisons"][0]["arms"][0]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda data: data.update(version=2), "its version is 2, and this monogpu-kit reads 1"),
        (lambda data: data.pop("setup"), "setup: is missing"),
        (lambda data: arm(data).pop("median"), f"{ARM}.median: is missing"),
        (lambda data: arm(data).update(median=None), f"{ARM}.median: must be a valid number, not null"),
        (lambda data: arm(data).update(median=True), f"{ARM}.median: must be a valid number, not true"),
        (lambda data: arm(data).update(median="much"), f'{ARM}.median: must be a valid number, not "much"'),
        (lambda data: arm(data).update(median=10**400), f"{ARM}.median: must be a valid number"),
        (lambda data: arm(data).update(runs={}), f"{ARM}.runs: must be a valid array, not {{}}"),
        (lambda data: arm(data)["runs"][0].update(round=1.5), f"{ARM}.runs[0].round: must be a valid integer"),
        (lambda data: data["setup"].update(card=[]), "setup.card: must be an object, not []"),
        (lambda data: data["memory"][0]["lines"][0].pop(), "memory[0].lines[0][1]: is missing"),
        (lambda data: data["experiments"][0]["comparisons"][0].update(kind="pie"), "kind: must be 'arms' or 'curve'"),
        (lambda data: data.update(started=None), "started: must be a valid string, not null"),
        (
            lambda data: data["memory"][0].update(held=None),
            "older monogpu-kit; `scripts/convert-results",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_place_and_what_to_do(change: Callable[[Any], object], said: str) -> None:
    words = refused(changed(change))
    assert words.startswith(f"{PLACE}") and said in words and ("monogpu-kit bench" in words or "convert" in words)


def test_keys_that_are_not_known_and_a_missing_version_are_ignored() -> None:
    text = changed(lambda data: (data.pop("version"), data.update(mode="fast"), arm(data).update(mode="fast")))
    assert from_text(text, PLACE) == EXAMPLE


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "3", '"x"', "[" * 100_000, '{"version": 1}'])
def test_what_is_no_benchmark_is_refused(text: str) -> None:
    assert PLACE in refused(text)


def test_a_field_with_a_default_may_be_missing_as_in_older_results() -> None:
    text = changed(lambda data: (data.pop("actual_seconds"), data["setup"].pop("notes")))
    assert from_text(text, PLACE) == replace(EXAMPLE, actual_seconds=None, setup=replace(EXAMPLE.setup, notes=()))


@given(st.data())
def test_whatever_is_put_in_one_place_is_read_or_refused(data: st.DataObject) -> None:
    tree = json.loads(to_text(EXAMPLE))
    at: Any = tree
    while isinstance(at, dict | list) and at:
        key = data.draw(st.sampled_from(sorted(at) if isinstance(at, dict) else range(len(at))))
        if data.draw(st.booleans()) or not isinstance(at[key], dict | list):
            at[key] = data.draw(st.sampled_from([None, True, -1, 1.5, "x", [], {}, [[]], {"name": 1}]))
            break
        at = at[key]
    try:
        back = from_text(json.dumps(tree), PLACE)
    except ResultsError as error:
        assert error.problems[0].needed
    else:
        assert isinstance(back, Bench)
