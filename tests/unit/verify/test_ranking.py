"""Ranking and classifying are asked at the endpoint, as any client asks."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from kit.stack.model import Probe
from kit.verify import url_of
from tests.support.composefiles import project
from tests.unit.verify.test_verify import Answer, Router, ask, failing

RANK = (Probe("rank", "rerank", "rank"), Probe("topic", "classify", "topic"))
SCORES = [{"index": 0, "relevance_score": 0.9}, {"index": 1, "relevance_score": 0.1}]


@dataclass
class Front(Router):
    """A router behind what ranks and classifies; `ranking` is its answer to a ranking by any name that it knows."""

    names: tuple[str, ...] = ("rank", "topic")
    ranking: Any = field(default_factory=lambda: SCORES)
    open_to_all: bool = False

    def _answer(self, path: str, model: str, said: dict[str, Any], key: str | None) -> Answer:
        if path == "/v1/rerank" and self.open_to_all:
            key = f"Bearer {self.key}"
        return super()._answer(path, model, said, key)

    def _said(self, path: str, model: str, said: dict[str, Any]) -> Any:
        if path == "/v1/rerank":
            return {"model": model, "results": self.ranking}
        if path == "/classify":
            return {"model": model, "data": [{"probs": [0.2, 0.8]}]}
        return super()._said(path, model, said)


def test_a_good_stack_ranks_classifies_and_knows_its_names() -> None:
    checks = ask(Front(key="s3cret"), RANK, key="s3cret")
    assert failing(checks) == {}
    assert [f"{check.name} {check.what}" for check in checks] == [
        "/v1/models lists the declared names",
        "rank ranks documents",
        "topic classifies",
        "no-such-model-here is unknown",
        "without the key nothing is answered",
        "no-such-model-here ranks nothing",
        "without the key nothing is ranked",
    ]


@pytest.mark.parametrize(
    ("front", "expected"),
    [
        (Front(ranking=SCORES[:1]), "rank: ranks documents"),
        (Front(ranking=[{**SCORES[0], "relevance_score": float("nan")}, SCORES[1]]), "rank: ranks documents"),
        (Front(faults={"/v1/rerank": (500, b"rerank_response_build_failed")}), "rank: ranks documents"),
        (Front(faults={"/v1/rerank no-such-model-here": (200, {})}), "no-such-model-here: ranks nothing"),
        (Front(key="s3cret", open_to_all=True), "without the key: nothing is ranked"),
        (Front(faults={"/classify topic": (200, {"model": "topic", "data": []})}), "topic: classifies"),
    ],
)
def test_a_broken_promise_is_found(front: Front, expected: str) -> None:
    assert expected in failing(ask(front, RANK, key=front.key))


def test_what_stands_in_front_of_the_router_is_where_clients_ask() -> None:
    text = """\
name: demo
services:
  router: {image: a, labels: {monogpu.role: router}}
  front: {image: b, labels: {monogpu.role: router}, ports: ["127.0.0.1:30000:30000"]}
"""
    assert url_of(project(text, Path("/srv/demo/docker-compose.yaml"), {})) == "http://127.0.0.1:30000"
