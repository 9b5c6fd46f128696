"""The endpoint of a stack through a forwarded port: what it answers, and clients that keep asking while something is
done to the stack: how many answers each model gave, how many were lost, and for how long at most there was none."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from kit import verify
from kit.compose.wait import Clock
from kit.errors import Problem, TargetError, VerificationError
from kit.kubernetes.apply import ours
from kit.kubernetes.check_stack import PrintedStack
from kit.kubernetes.cluster import Cluster, Json
from kit.kubernetes.names import NAME
from kit.kubernetes.render import endpoint_of
from kit.stack.model import Probe
from kit.verify.client import chat

PAUSE = 0.1  # seconds between a client's questions
ANSWER_SECONDS = 30.0  # for an answer under load
VERIFY_SECONDS = 120.0  # for one that verifies


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
    each = [(url, probe, key, tallies[probe.name], done) for probe in probes]
    clients = [threading.Thread(target=_ask, args=arguments, daemon=True) for arguments in each]
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


@contextlib.contextmanager
def endpoint(cluster: Cluster, printed: PrintedStack) -> Iterator[str]:
    """The URL of the router, or of what stands in front of it. Raises TargetError where no pod of it is ready."""
    name, _ = endpoint_of(printed.layout)
    at = next(one for one in printed.layout.addresses if one.name == name)
    pods = cluster.list("Pod", printed.layout.namespace, {**ours(printed.layout.project), NAME: name})
    ready = [pod for pod in pods if _is_ready(pod)]
    if not ready:
        raise TargetError(Problem(f"no pod of {name} is ready, of {len(pods)}"))
    with cluster.forward(printed.layout.namespace, str(ready[0]["metadata"]["name"]), at.target) as url:
        yield url


def _is_ready(pod: Json) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or []
    ending = pod["metadata"].get("deletionTimestamp")
    return not ending and any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions)


def verified(url: str, printed: PrintedStack, clock: Clock, patience: float, key: str | None = None) -> str:
    """How many checks passed. Raises VerificationError with those that did not."""
    import httpx

    timeout = httpx.Timeout(VERIFY_SECONDS, connect=10.0)
    with httpx.Client(timeout=timeout, trust_env=False) as http:
        checks = verify.verify(url, printed.layout.stack.probes, http, key, clock=clock, patience=patience)
    found = verify.Verification(url, checks)
    if not found.ok:
        raise VerificationError(found.problems)
    return f"{len(checks)} checks passed"
