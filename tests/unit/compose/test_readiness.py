"""Whether a started service is ready, on its way, or has failed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kit.compose.observed import ContainerState
from kit.compose.readiness import (
    Readiness,
    may_start,
    readiness_of,
    usual_seconds,
)
from tests.support.composefiles import project

TEXT = """
services:
  fetch: {image: x}
  chat: {image: x, depends_on: {fetch: {condition: service_completed_successfully}}}
  side: {image: x, depends_on: [chat]}
  router: {image: x, depends_on: {chat: {condition: service_healthy}, side: {condition: service_healthy}}}
"""
PROJECT = project(TEXT, Path("/p/docker-compose.yaml"), {})


def seen(**more: Any) -> ContainerState:
    return ContainerState(
        **{"id": "1", "name": "p-chat-1", "service": "chat", "number": 1, "image": "i", "status": "running", **more}
    )


CASES = {
    "healthy": (seen(health="healthy"), "ready", "healthy"),
    "starting": (seen(health="starting"), "waiting", "starting"),
    "unhealthy": (seen(health="unhealthy"), "failed", "is unhealthy"),
    "no check": (seen(), "ready", "running"),
    "not started": (seen(status="created"), "waiting", "being started"),
    "could not start": (seen(status="created", error="no runtime"), "failed", "is created: no runtime"),
    "exited": (seen(status="exited", exit_code=1), "failed", "ended with code 1"),
    "exited after restarts": (seen(status="exited", exit_code=1, restarts=3), "failed", "ended with code 1"),
    "ended in order": (seen(status="exited"), "ready", "done"),
    "ended although it serves": (seen(status="exited", health="unhealthy"), "failed", "ended, and should run on"),
    "restarted": (seen(health="starting", restarts=1), "restarted", "ended"),
    "restarting": (seen(status="restarting", exit_code=2, restarts=1), "restarted", "ended with code 2"),
    "restarting, forgiven": (seen(status="restarting", exit_code=2), "waiting", "being started"),
    "paused": (seen(status="paused"), "failed", "is paused"),
    "gone": (None, "failed", "was removed by another program"),
}


@pytest.mark.parametrize(("now", "outcome", "words"), CASES.values(), ids=CASES)
def test_a_state_is_judged(now: ContainerState | None, outcome: str, words: str) -> None:
    assert readiness_of(now, 0, must_finish=False, must_be_healthy=False) == Readiness(outcome, words)  # type: ignore[arg-type]


def test_a_one_shot_is_ready_when_it_is_done() -> None:
    assert readiness_of(seen(), 0, True, False) == Readiness("waiting", "at work")
    assert readiness_of(seen(status="exited"), 0, True, False) == Readiness("ready", "done")
    assert readiness_of(seen(status="exited", exit_code=1), 0, True, False).outcome == "failed"


def test_health_that_others_wait_for_must_be_checked() -> None:
    assert readiness_of(seen(), 0, False, True).outcome == "failed"


def test_forgiven_restarts_do_not_count() -> None:
    assert readiness_of(seen(health="healthy", restarts=2), 2, False, True).outcome == "ready"


@pytest.mark.parametrize(
    ("name", "begun", "ready", "may"),
    [
        ("fetch", [], [], True),
        ("chat", ["fetch"], [], False),
        ("chat", ["fetch"], ["fetch"], True),
        ("side", ["chat"], [], True),
        ("router", ["chat", "side"], ["chat"], False),
        ("router", ["chat", "side"], ["chat", "side"], True),
    ],
)
def test_a_service_begins_when_what_it_needs_is_there(name: str, begun: list[str], ready: list[str], may: bool) -> None:
    assert may_start(PROJECT.service(name), begun, ready) is may


START = datetime(2026, 11, 29, 12, tzinfo=UTC)


def started(service: str, seconds: float | None) -> ContainerState:
    return seen(service=service, started=None if seconds is None else START + timedelta(seconds=seconds))


@pytest.mark.parametrize(
    ("moments", "usual"),
    [
        ({"chat": 0, "side": 1, "router": 42}, {"chat": 42, "side": 41}),
        ({"chat": 100, "side": 1, "router": 42}, {"side": 41}),
        ({"chat": 0, "router": None}, {}),
        ({"chat": 0, "router": 90_000}, {}),
        ({}, {}),
    ],
)
def test_how_long_it_took_is_known_from_who_was_started_next(
    moments: dict[str, float | None], usual: dict[str, float]
) -> None:
    assert usual_seconds(PROJECT, [started(name, at) for name, at in moments.items()]) == usual
