"""Checks a service that was started: what Docker says, what its log says, and the error when it has failed."""

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
from kit.compose.ps import CAUSE_LINES, cause_of, log_of
from kit.compose.readiness import Readiness, readiness_of
from kit.compose.spec import ProjectSpec, ServiceSpec
from kit.diagnostics.explain import explain
from kit.errors import Problem, TargetError

if TYPE_CHECKING:
    from docker import DockerClient

LOG_SHOWN = 25  # lines of evidence
MOST_RESTARTS = 3  # after transient failures
RECOVERY = 60.0  # seconds in which what was kept may get healthy again: a router whose workers were replaced
MEMORY_RELEASE = 60.0  # seconds that a driver may take to free the memory of processes that have ended


@dataclass(frozen=True)
class Clock:
    """Seconds that only go forward, and waiting: `pause` lies between two checks."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    pause: float = 0.5


CLOCK = Clock()


@dataclass(frozen=True)
class Hooks:
    """What surrounds a worker's stop and start. `close` takes services out of the router and returns when they have no
    open request; `open` puts one back; `room` says what memory a service lacks, "" when it is free."""

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
    hooks: Hooks = Hooks()


@dataclass(frozen=True)
class StartedService:
    """A service that was started `at` a moment of the clock. `restarts` is how often Docker had restarted it, as far as
    that is forgiven, and `forgiven` the same at its start; `since` is where this start's log begins, None for all."""

    service: ServiceSpec
    container: str
    verb: str
    at: float
    restarts: int
    since: datetime | None = None
    forgiven: int = 0


def check(context: ExecutionContext, one: StartedService, was_ready: bool) -> tuple[StartedService, Readiness]:
    """The service's state now. Raises TargetError when it failed, or when it takes too long."""
    now = inspect(context.client, one.container)
    seconds = context.clock.now() - one.at
    found = _readiness(context, one, now)
    if found.outcome == "failed" and seconds < RECOVERY and _may_recover(one, now):
        found = Readiness("waiting", "unhealthy")
    if found.outcome == "failed":
        raise failure(context, one, now, found.detail)
    if found.outcome == "restarted":
        return _forgiven(context, one, now), found
    if found.outcome == "ready" and not was_ready:
        context.watch(Ready(one.service.name, seconds, found.detail))
    if found.outcome == "waiting":
        if context.timeout is not None and seconds > context.timeout:
            raise failure(context, one, now, f"is still {found.detail}")
        usual = context.usual.get(one.service.name)
        context.watch(Waiting(one.service.name, found.detail, seconds, usual, _log(context, one, 1)))
    return one, found


def _readiness(context: ExecutionContext, one: StartedService, now: ContainerState | None) -> Readiness:
    dependencies = (need for other in context.project.services for need in other.depends_on)
    needed = {need.condition for need in dependencies if need.service == one.service.name}
    must_finish, must_be_healthy = "service_completed_successfully" in needed, "service_healthy" in needed
    return readiness_of(now, one.restarts, must_finish, must_be_healthy)


def _may_recover(one: StartedService, now: ContainerState | None) -> bool:
    """Whether it ran before this `up` and runs still: its health may come from what was started just now."""
    return one.verb in ("keep", "resume") and now is not None and (now.status, now.health) == ("running", "unhealthy")


def _forgiven(context: ExecutionContext, one: StartedService, now: ContainerState | None) -> StartedService:
    """Docker restarts it. A transient failure is waited for, a few times; any other is stopped, so that it does not
    restart for ever, unseen."""
    why = explain(_log(context, one, CAUSE_LINES))
    if now is None or why is None or not why.retryable or now.restarts >= one.forgiven + MOST_RESTARTS:
        last = _last_end(context, one, now)
        _kill(context, one)
        raise failure(context, one, last, f"ended with code {last.exit_code}" if last and last.exit_code else "ended")
    context.watch(Retrying(one.service.name, now.restarts, why.cause))
    return replace(one, restarts=now.restarts)


def _last_end(context: ExecutionContext, one: StartedService, now: ContainerState | None) -> ContainerState | None:
    """The container with the exit code of its last end: Docker forgets it when it starts the container again, and
    keeps it among its events."""
    if now is None or now.exit_code or now.out_of_memory:
        return now
    until = time.time()
    filters: dict[str, list[str]] = {"container": [one.container], "event": ["die", "oom"]}
    events = context.client.api.events(since=int(until - 600), until=int(until) + 1, filters=filters, decode=True)
    seen = list(events)
    codes = [int(each["Actor"]["Attributes"].get("exitCode", 0)) for each in seen if each.get("Action") == "die"]
    memory = any(each.get("Action") == "oom" for each in seen)
    return replace(now, exit_code=codes[-1] if codes else 0, out_of_memory=memory)


def _kill(context: ExecutionContext, one: StartedService) -> None:
    from docker.errors import APIError

    with contextlib.suppress(APIError):
        context.client.api.stop(one.container, timeout=0)


def await_memory(context: ExecutionContext, service: ServiceSpec) -> None:
    """Returns when the memory that a service needs is free: a driver frees what a process held a little after its end.
    Raises TargetError when it stays in use."""
    began = context.clock.now()
    while lacks := context.hooks.room(service):
        seconds = context.clock.now() - began
        if seconds > MEMORY_RELEASE:
            unchanged = f"and this did not change within {MEMORY_RELEASE:.0f} s"
            raise TargetError(Problem(lacks, unchanged, "end the processes that hold it"))
        context.watch(Waiting(service.name, "its memory is not free yet", seconds, None, ""))
        context.clock.sleep(context.clock.pause)


def failure(context: ExecutionContext, one: StartedService, now: ContainerState | None, state: str) -> TargetError:
    """The error: what happened, the cause and the fix as far as they are known, and the log's tail."""
    log = _log(context, one, CAUSE_LINES)
    why = cause_of(now, log) if now else explain(log)
    what = f"{one.service.name} {state}, {context.clock.now() - one.at:.0f} s after its start"
    context.watch(Failed(one.service.name, what))
    probe = f"its health check said: {now.probe}\n" if now and now.health == "unhealthy" and now.probe else ""
    problem = Problem(what, why.cause, why.fix) if why else Problem(what, "its log shows no known cause")
    return TargetError(problem, evidence=probe + "\n".join(log.splitlines()[-LOG_SHOWN:]))


def _log(context: ExecutionContext, one: StartedService, lines: int) -> str:
    return log_of(context.client, one.container, lines, one.since.timestamp() if one.since else None)
