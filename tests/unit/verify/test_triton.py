from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.verify import triton
from kit.verify.triton import judge_tensors, request

CONFIG = {
    "max_batch_size": 8,
    "input": [{"name": "text", "data_type": "TYPE_STRING", "dims": [-1, 2]}, {"name": "hint", "optional": True}],
}
GOOD = {"outputs": [{"name": "loud", "datatype": "BYTES", "shape": [1, 2], "data": ["HELLO", "HELLO"]}]}


def test_the_smallest_request_that_the_configuration_allows() -> None:
    wanted = {"name": "text", "shape": [1, 1, 2], "datatype": "BYTES", "data": ["hello"] * 2}
    assert request(CONFIG) == {"inputs": [wanted]}
    flat = {"input": [{"name": "x", "data_type": "TYPE_FP32", "dims": [3]}, {"name": "b", "data_type": "TYPE_BOOL"}]}
    assert [one["data"] for one in request(flat)["inputs"]] == [[0, 0, 0], [False]]


def asked(config: Any, answer: Any, status: int = 200) -> tuple[Any, list[str]]:
    paths: list[str] = []

    def ask(path: str, payload: Mapping[str, Any] | None) -> tuple[int, bytes]:
        paths.append(path if payload is None else f"POST {path}")
        return (200, json.dumps(config).encode()) if payload is None else (status, json.dumps(answer).encode())

    return triton.ask_tensors("shout", ask), paths


def test_a_model_that_gives_tensors_is_good() -> None:
    verdict, paths = asked(CONFIG, GOOD)
    assert (verdict.ok, verdict.detail) == (True, "loud BYTES [1, 2]")
    assert paths == ["/v2/models/shout/config", "POST /v2/models/shout/infer"]


def test_half_precision_which_json_cannot_hold_is_only_asked_whether_it_is_ready() -> None:
    verdict, paths = asked({"input": [{"name": "x", "data_type": "TYPE_FP16", "dims": [1]}]}, None)
    assert verdict.ok and paths == ["/v2/models/shout/config", "/v2/models/shout/ready"]


@pytest.mark.parametrize(
    "answer, status, words",
    [
        ({"error": "Request for unknown model"}, 400, "HTTP 400: Request for unknown model"),
        ({"outputs": []}, 200, "no tensor"),
        ({"outputs": [{"name": "y", "shape": [2], "data": [1]}]}, 200, "not its shape"),
        ({"outputs": [{"name": "y", "shape": "2", "data": [1]}]}, 200, "not its shape"),
        (None, 200, "no tensor"),
    ],
)
def test_what_is_wrong_with_an_answer_is_said(answer: Any, status: int, words: str) -> None:
    verdict, _ = asked(CONFIG, answer, status)
    assert not verdict.ok and words in verdict.detail


@given(st.integers(0, 599), st.binary(max_size=50))
def test_nothing_that_a_server_answers_raises(status: int, body: bytes) -> None:
    assert isinstance(judge_tensors(status, body).detail, str)
