"""The JSON itself: what is refused, how it is stored, and the processor time beside it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.bench.vllm_results import LISTS, parse, saturated, slim
from kit.errors import TargetError
from tests.support.servejson import ANSWERED, FAILED, LOADS, Sent, embedded, generated, recorded, steady


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", "3", "{}", '{"completed": null}', '{"completed": "many"}', '{"completed": 1, "errors": 3}'],
)
def test_what_is_not_vllm_s_json_is_refused(text: str) -> None:
    with pytest.raises(TargetError, match="the result of `vllm bench serve` cannot be read"):
        parse(text)


@pytest.mark.parametrize("change", [{"ttfts": []}, {"errors": None}, {"output_lens": None}])
def test_lists_that_do_not_fit_each_other_are_refused(change: dict[str, Any]) -> None:
    data = json.loads(generated(steady(1000, 3)))
    with pytest.raises(TargetError, match="cannot be read"):
        parse(json.dumps(data | change))


@given(LOADS, st.lists(ANSWERED | FAILED, min_size=1, max_size=3))
def test_the_two_halves_of_the_json_are_the_whole(load: list[Sent], embeds: list[Sent]) -> None:
    for text in (generated(load), generated(load, newer=False), embedded(embeds)):
        sums, lists = (json.loads(half) for half in slim(text))
        assert not sums.keys() & lists.keys() and sums | lists == json.loads(text)
        assert lists.keys() <= {*LISTS, "errors"} and not any(isinstance(value, list) for value in sums.values())


def test_the_sums_of_what_was_recorded_are_short() -> None:
    for task in ("generate", "embed"):
        sums, lists = slim(recorded(task))
        assert json.loads(sums) | json.loads(lists) == json.loads(recorded(task))
        assert len(sums) < 2000 and sums.endswith("}\n") and lists.endswith("}\n")


@pytest.mark.parametrize(
    ("cpu", "duration", "is_so"),
    [
        ([1.0] * 20, 4.0, True),
        ([0.3] * 20, 4.0, False),
        ([1.0] * 20 + [0.2] * 16, 4.0, False),  # what it did before it sent does not count
        ([0.2] * 20 + [1.0] * 16, 4.0, True),
        ([0.2] * 20 + [1.0] * 7 + [0.2] * 9, 4.0, False),  # less than half of the time
        ([1.0] * 20, 1.0, False),  # too short
        ([], 4.0, False),
    ],
)
def test_a_process_is_saturated_when_it_had_no_time_left_while_it_sent(
    cpu: list[float], duration: float, is_so: bool
) -> None:
    assert saturated(cpu, 0.25, duration) is is_so
    assert saturated([share for share in cpu for _ in range(2)], 0.125, duration) is is_so
