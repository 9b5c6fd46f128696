"""Clients that keep asking while something is done to a stack: how many answers each model gave, how many were lost, and
for how long at most there was none."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from kit.stack.model import Probe
from kit.verify.client import chat

PAUSE = 0.1  # seconds between a client's questions
ANSWER_SECONDS = 30.0


@dataclass
class Tally:
    """What one model's client saw: `gap` is the longest time in seconds between two good answers, up to the end."""

    answered: int = 0
    failed: int = 0
    gap: float = 0.0
    last: float = field(default_factory=time.monotonic)
    errors: list[str] = field(default_factory=list)

    def good(self, now: float) -> None:
        self.answered += 1
        self.until(now)

    def bad(self, what: str) -> None:
        self.failed += 1
        self.errors.append(what)

    def until(self, now: float) -> None:
        self.gap = max(self.gap, now - self.last)
        self.last = now

    def __str__(self) -> str:
        return f"{self.failed} of {self.answered + self.failed} failed, at most {self.gap:.1f} s without an answer"


def question(probe: Probe) -> tuple[str, Mapping[str, object]]:
    """(path, body) of a small request for a model."""
    if probe.task == "embed":
        return "/v1/embeddings", {"model": probe.name, "input": "a sentence"}
    if probe.task == "generate":
        return "/v1/chat/completions", chat(probe.name, "Say a word.", 4)
    return "/v1/rerank", {"model": probe.name, "query": "a pet", "documents": ["a cat", "a stone"]}


@contextlib.contextmanager
def asking(url: str, probes: tuple[Probe, ...], key: str | None = None) -> Iterator[Mapping[str, Tally]]:
    """A client for each name, asking one question after another until the end."""
    tallies = {probe.name: Tally() for probe in probes}
    done = threading.Event()
    clients = [
        threading.Thread(target=_ask, args=(url, probe, key, tallies[probe.name], done), daemon=True)
        for probe in probes
    ]
    for client in clients:
        client.start()
    try:
        yield tallies
    finally:
        done.set()
        for client in clients:
            client.join(timeout=ANSWER_SECONDS + 5)


def _ask(url: str, probe: Probe, key: str | None, tally: Tally, done: threading.Event) -> None:
    import httpx

    path, body = question(probe)
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    with httpx.Client(base_url=url, timeout=ANSWER_SECONDS, trust_env=False, headers=headers) as http:
        while not done.is_set():
            try:
                reply = http.post(path, json=body)
                if reply.status_code == 200:
                    tally.good(time.monotonic())
                else:
                    tally.bad(f"HTTP {reply.status_code}: {reply.text[:120]}")
            except httpx.HTTPError as error:
                tally.bad(f"{type(error).__name__}: {error}")
            done.wait(PAUSE)
    tally.until(time.monotonic())
