"""The heart of the suite with real engines on the CPU, the real router and the command line: whoever is not struck
serves on. Health is looked at every two seconds (cardengine.py): a worker that hangs is known within a minute."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.chaos.steady import Steady, steady
from tests.chaos.table import Row
from tests.fakes.pretend_gpu import wait_for
from tests.support.walks import Said, Walk

pytestmark = pytest.mark.real

TASKS = {"chat": "generate", "embed": "embed"}
LONG = 600.0  # seconds; a start is 35 s on two idle cores, and these may be busy
PATIENCE = 120.0  # seconds that an answer is given
EVERY = 2.5  # seconds: a worker keeps a core busy for a second after each request, and there may be two cores


def soon(what: Any) -> None:
    wait_for(what, LONG)


@dataclass
class Heart:
    """Two real workers that run, and a client that asks both of them."""

    walk: Walk
    client: Steady
    rows: list[Row]

    def process(self, service: str, words: str) -> int:
        """The host's pid of a process of a worker, by a part of its name or command."""
        found = self.walk.containers()[service]
        listed = self.walk.client.api.top(found.id, "-eo pid,args")["Processes"]
        return next(int(pid) for pid, args in listed if words in args)

    def asked(self, name: str, since: float) -> tuple[int, int]:
        """Requests to `name` that were answered since then; of which failed: none may."""
        sent = [answer for answer in self.client.answers[name] if answer.at >= since]
        failed = self.client.failed(name, since=since)
        assert sent and not failed, failed[:3]
        return len(sent), len(failed)

    def again(self, name: str, since: float) -> float:
        """Seconds from `since` to the first good answer behind the last bad one, once it answers again."""
        called = time.monotonic()
        soon(lambda: self.client.answers[name][-1].at > called and self.client.answers[name][-1].good)
        return self.client.back(name, since) or 0.0

    def row(self, fault: str, said: str, since: float, *struck: str) -> None:
        seconds = max(self.again(name, since) for name in struck)
        spared = [name for name in TASKS if name not in struck]
        counts = [self.asked(name, since) for name in spared]
        lost = len(self.client.failed(*struck, since=since))
        words = f"{lost} requests to {' and '.join(struck)}" if lost else "nothing"
        others = (sum(sent for sent, _ in counts), sum(failed for _, failed in counts))
        self.rows.append(Row(f"real vLLM: {fault}", said, others, words, seconds))


@pytest.fixture(scope="module")
def heart(demo: Walk, first: Said, rows: list[Row]) -> Iterator[Heart]:
    first.good()
    with steady(demo.port, TASKS, patience=PATIENCE, every=EVERY) as client:
        soon(lambda: all(seen and seen[-1].good for seen in client.answers.values()))
        yield Heart(demo, client, rows)


def test_a_killed_engine_comes_back_by_itself_and_the_other_model_serves_on(heart: Heart) -> None:
    since, before = time.monotonic(), heart.walk.containers()["chat"]
    os.kill(heart.process("chat", "VLLM::EngineCore"), signal.SIGKILL)
    soon(lambda: heart.walk.containers()["chat"].restarts > before.restarts)
    heart.row("engine killed (SIGKILL)", "status: restarted", since, "chat")
    said = heart.walk.kit("status").good().out
    assert "chat was restarted once" in said
    assert heart.walk.containers()["embed"].restarts == 0


def test_a_killed_router_comes_back_and_no_worker_is_touched(heart: Heart) -> None:
    since, before = time.monotonic(), heart.walk.containers()
    os.kill(heart.process("router", "smg::router"), signal.SIGKILL)
    soon(lambda: heart.walk.containers()["router"].restarts > before["router"].restarts)
    heart.row("router killed", "status: restarted", since, *TASKS)
    after = heart.walk.containers()
    assert [after[name].started for name in TASKS] == [before[name].started for name in TASKS]


def test_an_edited_model_is_made_anew_and_the_other_one_serves_on(heart: Heart) -> None:
    since, before = time.monotonic(), heart.walk.ids()
    manifest = heart.walk.folder / "monogpu.yaml"
    manifest.write_text(manifest.read_text().replace("context: 2k", "context: 1k", 1))
    assert "--max-model-len 2048 -> 1024" in heart.walk.kit("up", "--no-verify").good().err
    heart.row("manifest edited, up", "change list, drain", since, "chat")
    assert {name for name, each in heart.walk.ids().items() if each != before[name]} == {"chat"}


def test_a_worker_that_hangs_is_named_and_up_starts_it_again(heart: Heart) -> None:
    """Its processes are stopped: it hears nothing, not even that it is to end."""
    since = time.monotonic()
    for words in ("bin/vllm serve", "VLLM::EngineCore", "VLLM::Worker"):
        os.kill(heart.process("chat", words), signal.SIGSTOP)
    soon(lambda: heart.walk.containers()["chat"].health == "unhealthy")
    began = time.monotonic()
    said = heart.walk.kit("verify").out
    assert "chat is unhealthy" in said and time.monotonic() - began < PATIENCE / 2
    assert heart.walk.kit("status").code == 5
    assert "was unhealthy" in heart.walk.kit("up", "--no-verify").good().err
    heart.row("worker hangs (SIGSTOP), up", "verify, status: unhealthy", since, "chat")
