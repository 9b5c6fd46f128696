from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.bench.html.numbers import UNKNOWN, duration, known, number, plain, quantity, ratio, short, unique
from tests.support.anybench import NASTY

NONE = (None, float("nan"), float("inf"), float("-inf"))


@pytest.mark.parametrize(
    ("value", "said"),
    [(12838.4, "12,838"), (499.6, "500"), (62.44, "62.4"), (1.0, "1.00"), (0.0551, "0.0551"), (0.0, "0")],
)  # fmt: skip
def test_a_number_has_three_digits_that_count(value: float, said: str) -> None:
    assert number(value) == said


@pytest.mark.parametrize("value", NONE)
def test_what_is_no_number_is_unknown_and_never_zero(value: float | None) -> None:
    assert number(value) == plain(value) == duration(value) == quantity(value, "tok/s") == UNKNOWN
    assert not known(1.0, value)


@given(st.floats(1e-6, 1e15))
def test_a_number_is_told_to_within_a_part_in_200(value: float) -> None:
    assert float(number(value).replace(",", "")) == pytest.approx(value, rel=1 / 200)


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_any_float_is_told(value: float) -> None:
    assert number(value) and duration(value) and plain(value) and quantity(value, "ms") and ratio(value)


def test_a_quantity_has_its_unit() -> None:
    assert quantity(62.4, "req/s") == "62.4 req/s" and quantity(3.0, "") == "3.00"


@pytest.mark.parametrize(("value", "said"), [(64.0, "64"), (2048.0, "2,048"), (0.5, "0.5")])
def test_a_chosen_number_is_told_as_it_was_chosen(value: float, said: str) -> None:
    assert plain(value) == said


@pytest.mark.parametrize(("value", "said"), [(0, "0"), (250, "250"), (12500, "12.5k"), (2e6, "2M"), (0.25, "0.25")])
def test_an_axis_has_short_numbers(value: float, said: str) -> None:
    assert short(value) == said


@pytest.mark.parametrize(
    ("seconds", "said"), [(39.62, "39.6 s"), (600, "10 min"), (7500, "2 h 5 min"), (3599, "1 h 0 min")]
)
def test_a_duration_is_told_in_the_unit_a_person_would_pick(seconds: float, said: str) -> None:
    assert duration(seconds) == said


@pytest.mark.parametrize(
    ("value", "said"), [(2.008, "2.01x"), (0.0, UNKNOWN), (-1.0, UNKNOWN), (float("inf"), UNKNOWN)]
)
def test_a_ratio_of_nothing_is_unknown(value: float, said: str) -> None:
    assert ratio(value) == said


# ---- names


def test_a_name_becomes_small_letters_and_dashes() -> None:
    assert unique(["policy, Large: p99 / TTFT", "../../etc/passwd"], "x") == ["policy-large-p99-ttft", "etc-passwd"]


def test_the_same_name_gets_a_number_and_one_without_letters_a_word() -> None:
    assert unique(["a b", "a-b", "a-b-2", "A B", "🦙", ""], "chart") == [
        "a-b", "a-b-2", "a-b-2-2", "a-b-3", "chart", "chart-2",
    ]  # fmt: skip


@given(st.lists(NASTY | st.text(max_size=200), max_size=8))
def test_names_are_unique_and_fit_files_and_links(names: list[str]) -> None:
    made = unique(names, "chart")
    assert len(set(made)) == len(made) == len(names)
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", one) and len(one) < 70 for one in made)
