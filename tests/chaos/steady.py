"""A steady client: it asks every name again and again, at a bounded rate, and keeps what came of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx

EVERY = 0.25  # seconds between an answer and the next request for the same name
PATIENCE = 10.0

Body = Mapping[str, object]


def asking(name: str, task: str) -> tuple[str, Body]:
    """The path and the body of a small request."""
    match task:
        case "embed":
            return "/v1/embeddings", {"model": name, "input": "seven red houses"}
        case "rerank":
            return "/v1/rerank", {"model": name, "query": "a pet", "documents": ["a cat", "a stock"]}
        case "classify":
            return "/classify", {"model": name, "input": "a text"}
    words = [{"role": "user", "content": "Say something."}]
    return "/v1/chat/completions", {"model": name, "messages": words, "max_tokens": 8}


@dataclass(frozen=True)
class Answer:
    """One request: when it was sent (seconds of a clock that goes forward), its status (0: none), and what was said."""

    at: float
    status: int
    said: str = ""

    @property
    def good(self) -> bool:
        return self.status == 200


@dataclass
class Steady:
    """What each name answered, in order."""

    url: str
    tasks: Mapping[str, str]
    key: str | None = None
    patience: float = PATIENCE
    every: float = EVERY
    answers: dict[str, list[Answer]] = field(default_factory=dict)
    ended: threading.Event = field(default_factory=threading.Event)

    def failed(self, *names: str, since: float = 0.0) -> list[tuple[str, Answer]]:
        """Requests to these names (to all, when none is given) that got no good answer, of those sent since then."""
        return [(n, a) for n in names or self.tasks for a in self.answers[n] if not a.good and a.at >= since]

    def asked(self, *names: str) -> int:
        return sum(len(self.answers[name]) for name in names or self.tasks)

    def back(self, name: str, since: float) -> float | None:
        """Seconds from `since` to the first good answer after the last bad one; 0 when none was bad, None when the
        last one was."""
        seen = [answer for answer in self.answers[name] if answer.at >= since]
        bad = [place for place, answer in enumerate(seen) if not answer.good]
        if not bad:
            return 0.0
        return seen[bad[-1] + 1].at - since if bad[-1] + 1 < len(seen) else None

    def away(self, name: str, since: float) -> tuple[float, float] | None:
        """When its first and its last bad request of those since then were sent; None when none was bad."""
        bad = [answer.at for answer in self.answers[name] if not answer.good and answer.at >= since]
        return (bad[0], bad[-1]) if bad else None

    def _ask(self, http: httpx.Client, name: str) -> Answer:
        path, body = asking(name, self.tasks[name])
        at = time.monotonic()
        try:
            got = http.post(self.url + path, json=body)
        except httpx.HTTPError as error:
            return Answer(at, 0, repr(error))
        return Answer(at, got.status_code, "" if got.status_code == 200 else got.text[:300])

    def keep_asking(self, name: str) -> None:
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        with httpx.Client(timeout=self.patience, headers=headers, trust_env=False) as http:
            while not self.ended.is_set():
                self.answers[name].append(self._ask(http, name))
                self.ended.wait(self.every)


@contextmanager
def steady(
    port: int, tasks: Mapping[str, str], key: str | None = None, patience: float = PATIENCE, every: float = EVERY
) -> Iterator[Steady]:
    """Asks each name of `tasks` (name -> task) at the router's port, as long as the context lasts; an answer is given
    `patience` seconds."""
    made = Steady(f"http://127.0.0.1:{port}", tasks, key, patience, every, {name: [] for name in tasks})
    threads = [threading.Thread(target=made.keep_asking, args=(name,)) for name in tasks]
    for thread in threads:
        thread.start()
    try:
        yield made
    finally:
        made.ended.set()
        for thread in threads:
            thread.join()
