"""Faults of what runs: whoever is not struck serves on, and whoever is struck comes back, or is named."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

import pytest

from tests.chaos.stacks import TASKS, Stack, soon

pytestmark = pytest.mark.chaos

Now = Callable[[], float]


def everything(stack: Stack, since: float) -> str:
    """What a fault cost that strikes every name."""
    return f"{len(stack.client.failed(since=since))} requests, to all names"


@pytest.mark.parametrize(
    ("fault", "words"),
    [("kill-after:1", "worker killed (137, as for host memory)"), ("die-after:1", "engine dies, exit 0")],
    ids=["killed", "engine-dies"],
)
def test_a_worker_that_ends_comes_back_by_itself(fault: str, words: str, stack: Stack, now: Now) -> None:
    since, before = now(), stack.walk.containers()["chat"]
    stack.strike("chat", fault)
    soon(lambda: stack.restarted("chat", before.restarts))
    seconds = stack.answers_again("chat", since)
    after = stack.walk.containers()["chat"]
    assert after.id == before.id and after.restarts == before.restarts + 1
    stack.row(words, "status: restarts", stack.unharmed("chat", since=since), stack.lost("chat", since), seconds)


def test_a_worker_that_hangs_holds_its_own_requests_alone(stack: Stack, now: Now) -> None:
    """Its /health stays 200, as vLLM's does: only who asks it for a token (`verify`) can tell."""
    since = now()
    stack.walk.fault("chat", "hang")
    soon(lambda: stack.client.failed("chat", since=since))
    others = stack.unharmed("chat", since=since)
    stack.walk.compose("restart", "-t", "1", "chat")
    seconds = stack.answers_again("chat", since)
    stack.row("worker hangs, then restarted by hand", "verify: chat", others, stack.lost("chat", since), seconds)


def test_an_unhealthy_worker_is_left_out_and_up_starts_it_again(stack: Stack, now: Now) -> None:
    since = now()
    stack.walk.fault("chat", "unhealthy")
    soon(lambda: stack.walk.containers()["chat"].health == "unhealthy")
    assert "restart" in stack.walk.up("--dry-run").good().out
    said = stack.walk.up("--no-verify").good()
    assert "was unhealthy" in said.err
    seconds = stack.answers_again("chat", since)
    stack.row(
        "worker unhealthy", "up: was unhealthy", stack.unharmed("chat", since=since), stack.lost("chat", since), seconds
    )


def test_a_killed_router_comes_back_and_no_worker_is_touched(stack: Stack, now: Now) -> None:
    since = now()
    workers = {name: stack.walk.containers()[name].started for name in TASKS}
    before = stack.walk.containers()["router"].restarts
    stack.kill("router")
    soon(lambda: stack.restarted("router", before))
    seconds = max(stack.answers_again(name, since) for name in TASKS)
    assert {name: stack.walk.containers()[name].started for name in TASKS} == workers
    stack.row("router killed", "status: restarts", (0, 0), everything(stack, since), seconds)


def test_when_all_start_at_once_as_after_a_reboot_all_come_back_within_their_bills(stack: Stack, now: Now) -> None:
    since = now()
    pids = [stack.pid(name) for name in (*TASKS, "router")]
    before = {name: each.restarts for name, each in stack.walk.containers().items()}
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    soon(lambda: all(stack.restarted(name, before[name]) for name in (*TASKS, "router")))
    seconds = max(stack.answers_again(name, since) for name in TASKS)
    report = stack.walk.up("--json").good().json
    assert {service["verb"] for service in report["services"]} == {"keep"}
    for one in report["footprints"]:
        assert one["measured_bytes"] == pytest.approx(one["planned_bytes"], rel=0.06)
    stack.row("all started at once (reboot)", "nothing", (0, 0), everything(stack, since), seconds)


def test_a_worker_that_is_slow_to_come_back_answers_503_meanwhile_and_serves_when_it_is_back(
    stack: Stack, now: Now
) -> None:
    """Long enough for the router's breaker to open: it asks again within seconds."""
    since, before = now(), stack.walk.containers()["chat"].restarts
    stack.walk.hold("load")
    stack.kill("chat")
    soon(lambda: stack.walk.containers()["chat"].restarts > before and stack.client.failed("chat", since=since))
    soon(lambda: [answer for _, answer in stack.client.failed("chat", since=since) if answer.status == 503][20:])
    stack.walk.release("load")
    soon(lambda: stack.restarted("chat", before))
    healthy = time.monotonic() - since
    seconds = stack.answers_again("chat", since)
    assert seconds < healthy + 10, (seconds, healthy)
    others = stack.unharmed("chat", since=since)
    stack.row("worker killed, loads slowly", "status: starting", others, stack.lost("chat", since), seconds)
