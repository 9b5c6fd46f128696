"""One look at a service that was begun: what Docker says, what its log says, and the error when it has failed."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from kit.compose.events import Failed, Ready, Retrying, Waiting, Watch
from kit.compose.observe import inspect
from kit.compose.observed import ContainerState
from kit.compose.readiness import (
    Readiness,
    judge,
)
from kit.compose.spec import ProjectSpec, ServiceSpec
from kit.diagnostics.explain import explain, explain_exit
from kit.diagnostics.pattern import Explanation
from kit.errors import Problem, TargetError

if TYPE_CHECKING:
    from docker import DockerClient

LOG_READ = 400  # lines that are looked through for a cause
LOG_SHOWN = 25  # lines that are shown
MOST_RESTARTS = 3  # of a worker that fails in a way that passes
RECOVERY = 60.0  # seconds in which what was kept may get healthy again: a router whose workers were replaced
GIVEN_BACK = 60.0  # seconds that a driver may take to free the memory of processes that have ended


@dataclass(frozen=True)
class Clock:
    """Seconds that only go forward, and waiting: `pause` lies between two looks."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    pause: float = 0.5


CLOCK = Clock()


@dataclass(frozen=True)
class Hooks:
    """What surrounds a worker's stop and start. `close` takes services out of the router and returns when they have no
    request left; `open` puts one back; `room` says what a service's memory lacks, "" when it is free."""

    close: Callable[[Collection[str]], None] = lambda services: None
    open: Callable[[str], None] = lambda service: None
    room: Callable[[ServiceSpec], str] = lambda service: ""


@dataclass(frozen=True)
class ExecutionContext:
    """What every step of `up` needs. `hashes` and `version` are Compose's; `timeout` is how many seconds one service
    may take, None for as long as its health check says; `usual` is how many it took last time."""

    client: DockerClient
    project: ProjectSpec
    hashes: Mapping[str, str]
    version: str
    watch: Watch
    timeout: float | None = None
    usual: Mapping[str, float] = field(default_factory=dict)
    clock: Clock = CLOCK
    gate: Hooks = Hooks()


@dataclass(frozen=True)
class StartedService:
    """A service that was begun `at` a moment of the clock; `restarts` is how often Docker had restarted it, as far as
    that is forgiven, `forgiven` when it was begun; `since` is where its log of this walk begins, None for all of it."""

    service: ServiceSpec
    container: str
    verb: str
    at: float
    restarts: int
    since: datetime | None = None
    forgiven: int = 0


def look(walk: ExecutionContext, one: StartedService, was_ready: bool) -> tuple[StartedService, Readiness]:
    """What became of it. Raises TargetError when it failed, or when it takes too long."""
    now = inspect(walk.client, one.container)
    seconds = walk.clock.now() - one.at
    verdict = _judged(walk, one, now)
    if verdict.outcome == "failed" and seconds < RECOVERY and _may_recover(one, now):
        verdict = Readiness("waiting", "unhealthy")
    if verdict.outcome == "failed":
        raise failure(walk, one, now, verdict.words)
    if verdict.outcome == "restarted":
        return _forgiven(walk, one, now, verdict), verdict
    if verdict.outcome == "ready" and not was_ready:
        walk.watch(Ready(one.service.name, seconds, verdict.words))
    if verdict.outcome == "waiting":
        if walk.timeout is not None and seconds > walk.timeout:
            raise failure(walk, one, now, f"is still {verdict.words}")
        usual = walk.usual.get(one.service.name)
        walk.watch(Waiting(one.service.name, verdict.words, seconds, usual, _log(walk, one, 1)))
    return one, verdict


def _judged(walk: ExecutionContext, one: StartedService, now: ContainerState | None) -> Readiness:
    needs = [need for other in walk.project.services for need in other.depends_on if need.service == one.service.name]
    must_finish = any(need.condition == "service_completed_successfully" for need in needs)
    must_be_healthy = any(need.condition == "service_healthy" for need in needs)
    return judge(now, one.restarts, must_finish, must_be_healthy)


def _may_recover(one: StartedService, now: ContainerState | None) -> bool:
    """Whether it ran before this walk and runs still, and its health may come from what was begun just now."""
    return one.verb in ("keep", "resume") and now is not None and (now.status, now.health) == ("running", "unhealthy")


def _forgiven(
    walk: ExecutionContext, one: StartedService, now: ContainerState | None, verdict: Readiness
) -> StartedService:
    """Docker restarts it. What may pass by itself is waited for, a few times; what cannot is stopped, so that it does
    not start for ever, unseen."""
    why = explain(_log(walk, one, LOG_READ))
    if now is None or why is None or not why.retryable or now.restarts >= one.forgiven + MOST_RESTARTS:
        ended = _last_end(walk, one, now)
        _stop(walk, one)
        raise failure(walk, one, ended, f"ended with code {ended.exit_code}" if ended and ended.exit_code else "ended")
    walk.watch(Retrying(one.service.name, now.restarts, why.cause))
    return replace(one, restarts=now.restarts)


def _last_end(walk: ExecutionContext, one: StartedService, now: ContainerState | None) -> ContainerState | None:
    """The container with the exit code of its last end: Docker forgets it when it starts the container again, and
    keeps it among its events."""
    if now is None or now.exit_code or now.out_of_memory:
        return now
    until = time.time()
    asked: dict[str, list[str]] = {"container": [one.container], "event": ["die", "oom"]}
    seen = list(walk.client.api.events(since=int(until - 600), until=int(until) + 1, filters=asked, decode=True))
    codes = [int(each["Actor"]["Attributes"].get("exitCode", 0)) for each in seen if each.get("Action") == "die"]
    memory = any(each.get("Action") == "oom" for each in seen)
    return replace(now, exit_code=codes[-1] if codes else 0, out_of_memory=memory)


def _stop(walk: ExecutionContext, one: StartedService) -> None:
    from docker.errors import APIError

    with contextlib.suppress(APIError):
        walk.client.api.stop(one.container, timeout=0)


def await_room(walk: ExecutionContext, service: ServiceSpec) -> None:
    """Returns when the memory that a service needs is free: a driver frees what a process held a little after its end.
    Raises TargetError when it stays taken."""
    began = walk.clock.now()
    while lacks := walk.gate.room(service):
        seconds = walk.clock.now() - began
        if seconds > GIVEN_BACK:
            raise TargetError(Problem(lacks, f"and this did not change within {GIVEN_BACK:.0f} s", "end who holds it"))
        walk.watch(Waiting(service.name, "its memory is not free yet", seconds, None, ""))
        walk.clock.sleep(walk.clock.pause)


def failure(walk: ExecutionContext, one: StartedService, now: ContainerState | None, words: str) -> TargetError:
    """The error: what happened, the cause and the fix as far as they are known, and the log's tail."""
    log = _log(walk, one, LOG_READ)
    why = _cause(log, now)
    seconds = walk.clock.now() - one.at
    what = f"{one.service.name} {words}, {seconds:.0f} s after it was begun"
    walk.watch(Failed(one.service.name, what))
    probe = f"its health check said: {now.probe}\n" if now and now.health == "unhealthy" and now.probe else ""
    problem = Problem(what, why.cause, why.fix) if why else Problem(what, "its log does not say why in known words")
    return TargetError(problem, evidence=probe + "\n".join(log.splitlines()[-LOG_SHOWN:]))


def _cause(log: str, now: ContainerState | None) -> Explanation | None:
    by_exit = explain_exit(now.exit_code, now.out_of_memory) if now else None
    return by_exit if now and now.out_of_memory else explain(log) or by_exit


def _log(walk: ExecutionContext, one: StartedService, lines: int) -> str:
    """The end of the log, "" when the container is gone."""
    from docker.errors import APIError

    since = one.since.timestamp() if one.since else None
    try:
        return str(walk.client.api.logs(one.container, tail=lines, since=since).decode(errors="replace")).rstrip()
    except APIError:
        return ""
