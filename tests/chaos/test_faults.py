"""Faults of what runs: whoever is not struck serves on, and whoever is struck comes back, or is named."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from tests.chaos.conftest import TASKS, Stack
from tests.walks import soon

pytestmark = pytest.mark.docker

Now = Callable[[], float]


@pytest.mark.parametrize(
    ("fault", "words"),
    [("kill-after:1", "worker killed (137, as by the kernel for memory)"), ("die-after:1", "engine dies, exit 0")],
    ids=["killed", "engine-dies"],
)
def test_a_worker_that_ends_comes_back_by_itself(fault: str, words: str, stack: Stack, now: Now) -> None:
    since, before = now(), stack.walk.containers()["chat"]
    stack.walk.fault("chat", fault)
    soon(lambda: stack.client.failed("chat", since=since))
    seconds = stack.answers_again("chat", since)
    after = stack.walk.containers()["chat"]
    assert after.id == before.id and after.restarts == before.restarts + 1
    stack.row(words, "status: restarts", stack.unharmed("chat", since=since), stack.lost("chat", since), seconds)


def test_a_worker_that_hangs_is_named_by_verify_and_others_serve_on(stack: Stack, now: Now) -> None:
    since = now()
    stack.walk.fault("chat", "hang")
    said = stack.walk.kit("verify", "--json")
    said.refused(5)
    wrong = {check["name"] for check in said.json["checks"] if not check["ok"] and check["name"] in TASKS}
    assert wrong == {"chat"}
    others = stack.unharmed("chat", since=since)
    stack.walk.compose("restart", "-t", "1", "chat")
    seconds = stack.answers_again("chat", since)
    stack.row("worker hangs", "verify: chat, exit 5", others, stack.lost("chat", since), seconds)


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
    stack.kill("router")
    soon(lambda: stack.client.failed("chat", since=since))
    seconds = max(stack.answers_again(name, since) for name in TASKS)
    assert {name: stack.walk.containers()[name].started for name in TASKS} == workers
    stack.row("router killed", "status: restarts", (0, 0), "requests in flight, and until it serves", seconds)


def test_when_all_start_at_once_as_after_a_reboot_all_come_back_within_their_bills(stack: Stack, now: Now) -> None:
    since = now()
    pids = [stack.pid(name) for name in (*TASKS, "router")]
    for pid in pids:
        kill(pid)
    soon(lambda: stack.client.failed("chat", since=since))
    seconds = max(stack.answers_again(name, since) for name in TASKS)
    report = stack.walk.up("--json").good().json
    assert {service["verb"] for service in report["services"]} == {"keep"}
    for one in report["footprints"]:
        assert one["measured_bytes"] == pytest.approx(one["planned_bytes"], rel=0.06)
    stack.row("all started at once (reboot)", "nothing", (0, 0), "requests until then", seconds)


def kill(pid: int) -> None:
    import os
    import signal

    os.kill(pid, signal.SIGKILL)


def test_a_worker_that_fails_at_every_start_is_stopped_by_up_with_its_cause(stack: Stack, now: Now) -> None:
    """The card is full by somebody else's doing when a worker dies: Docker tries for ever, until somebody looks."""
    since = now()
    stack.walk.hold("load")
    stack.kill("chat")
    soon(lambda: stack.client.failed("chat", since=since))
    stack.walk.release("load")
    seconds = stack.answers_again("chat", since)
    time.sleep(1)
    others = stack.unharmed("chat", since=since)
    stack.row("worker killed, slow to load", "status: restarts", others, stack.lost("chat", since), seconds)
