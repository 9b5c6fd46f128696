"""What counts as a call of a tool."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kit.verify.tool_calls import judge_call, judge_tools


def answer(message: object, finish: str = "tool_calls", model: str = "chat") -> bytes:
    return json.dumps({"model": model, "choices": [{"message": message, "finish_reason": finish}]}).encode()


def call(arguments: Any, name: str = "get_weather") -> dict[str, Any]:
    return {"content": None, "tool_calls": [{"function": {"name": name, "arguments": arguments}}]}


def test_a_call_of_the_schema_is_one() -> None:
    verdict = judge_call("chat", 200, answer(call('{"city": "Paris"}')))
    assert (verdict.ok, verdict.detail) == (True, 'get_weather({"city": "Paris"})')


@pytest.mark.parametrize(
    "message",
    [
        call('{"city": "London"}'),
        call('{"city": "Paris", "unit": "C"}'),
        call('{"city": '),
        call({"city": "Paris"}),
        call('{"city": "Paris"}', name="weather"),
        {"content": "It is sunny."},
        {"content": None, "tool_calls": []},
        {"content": None, "tool_calls": [None]},
        None,
    ],
)
def test_what_the_schema_does_not_allow_is_none(message: object) -> None:
    assert not judge_call("chat", 200, answer(message)).ok


def test_a_model_that_still_thinks_is_not_blamed() -> None:
    verdict = judge_call("chat", 200, answer({"reasoning": "Hm"}, finish="length"))
    assert (verdict.ok, verdict.detail) == (True, "no call yet: its tokens were over")


def test_where_a_call_may_be_made_words_are_good_too() -> None:
    assert judge_tools("chat", 200, answer({"content": "Sunny."}, "stop")).detail == "answers without a call"
    assert judge_tools("chat", 200, answer(call("{}"))).detail == "calls get_weather"
    assert not judge_tools("chat", 200, answer(None)).ok
    refusal = b'{"error": {"message": "\\"auto\\" tool choice requires --enable-auto-tool-choice"}}'
    assert not judge_tools("chat", 400, refusal).ok


def test_another_name_s_answer_is_none() -> None:
    assert not judge_call("chat", 200, answer(call('{"city": "Paris"}'), model="other")).ok
