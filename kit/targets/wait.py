"""One look at a service that was begun: what Docker says, what its log says, and the error when it has failed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from kit.errors import Problem, TargetError
from kit.logwords import explain, explain_exit
from kit.patterns import Explanation
from kit.targets.events import Failed, Ready, Retrying, Waiting, Watch
from kit.targets.judge import Verdict, judge
from kit.targets.observe import inspect
from kit.targets.snapshot import Container
from kit.targets.spec import ProjectSpec, ServiceSpec

if TYPE_CHECKING:
    from docker import DockerClient

LOG_READ = 400  # lines that are looked through for a cause
LOG_SHOWN = 25  # lines that are shown


@dataclass(frozen=True)
class Clock:
    """Seconds that only go forward, and waiting: `pause` lies between two looks."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    pause: float = 0.5


CLOCK = Clock()


@dataclass(frozen=True)
class Walk:
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


@dataclass(frozen=True)
class Begun:
    """A service that was begun `at` a moment of the clock; `restarts` is how often Docker had restarted it, as far as
    that is forgiven; `since` is where its log of this walk begins, None for all of it."""

    service: ServiceSpec
    container: str
    verb: str
    at: float
    restarts: int
    since: datetime | None = None


def look(walk: Walk, one: Begun, was_ready: bool) -> tuple[Begun, Verdict]:
    """What became of it. Raises TargetError when it failed, or when it takes too long."""
    now = inspect(walk.client, one.container)
    verdict = _judged(walk, one, now)
    seconds = walk.clock.now() - one.at
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


def _judged(walk: Walk, one: Begun, now: Container | None) -> Verdict:
    needs = [need for other in walk.project.services for need in other.depends_on if need.service == one.service.name]
    must_finish = any(need.condition == "service_completed_successfully" for need in needs)
    must_be_healthy = any(need.condition == "service_healthy" for need in needs)
    return judge(now, one.restarts, must_finish, must_be_healthy)


def _forgiven(walk: Walk, one: Begun, now: Container | None, verdict: Verdict) -> Begun:
    """Docker restarts it. What may pass by itself is waited for, as often as the restart policy allows."""
    why = explain(_log(walk, one, LOG_READ))
    if now is None or why is None or not why.retryable:
        raise failure(walk, one, now, f"{verdict.words}, and Docker starts it again and again")
    walk.watch(Retrying(one.service.name, now.restarts, why.cause))
    return replace(one, restarts=now.restarts)


def failure(walk: Walk, one: Begun, now: Container | None, words: str) -> TargetError:
    """The error: what happened, the cause and the mend as far as they are known, and the log's tail."""
    log = _log(walk, one, LOG_READ)
    why = _cause(log, now)
    seconds = walk.clock.now() - one.at
    what = f"{one.service.name} {words}, {seconds:.0f} s after it was begun"
    walk.watch(Failed(one.service.name, what))
    probe = f"its health check said: {now.probe}\n" if now and now.health == "unhealthy" and now.probe else ""
    problem = Problem(what, why.cause, why.mend) if why else Problem(what, "its log does not say why in known words")
    return TargetError(problem, evidence=probe + "\n".join(log.splitlines()[-LOG_SHOWN:]))


def _cause(log: str, now: Container | None) -> Explanation | None:
    by_exit = explain_exit(now.exit_code, now.out_of_memory) if now else None
    return by_exit if now and now.out_of_memory else explain(log) or by_exit


def _log(walk: Walk, one: Begun, lines: int) -> str:
    """The end of the log, "" when the container is gone."""
    from docker.errors import APIError

    since = one.since.timestamp() if one.since else None
    try:
        return str(walk.client.api.logs(one.container, tail=lines, since=since).decode(errors="replace")).rstrip()
    except APIError:
        return ""
