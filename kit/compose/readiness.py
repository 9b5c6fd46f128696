"""Whether a service that was started is ready, still on its way, or has failed. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal

from kit.compose.observed import ContainerState
from kit.compose.spec import ProjectSpec, ServiceSpec

LONGEST_START = 3600.0  # seconds; two services that were started further apart were not started by one `up`
Outcome = Literal["waiting", "ready", "restarted", "failed"]


@dataclass(frozen=True)
class Readiness:
    """`detail` is a state (healthy, starting), or the predicate of a failed service (is unhealthy)."""

    outcome: Outcome
    detail: str


def readiness_of(
    now: ContainerState | None, restarts_before: int, must_finish: bool, must_be_healthy: bool
) -> Readiness:
    """`must_finish`: others wait for it to end with 0. `must_be_healthy`: others wait for its health check.

    A container that Docker has restarted more often than before is `restarted`: its log tells whether the failure is
    transient."""
    if now is None:
        return Readiness("failed", "was removed by another program")
    if now.status == "exited":
        return _exited(now, must_finish)
    if now.restarts > restarts_before:
        return Readiness("restarted", f"ended with code {now.exit_code}" if now.exit_code else "ended")
    if now.status == "running":
        return _running(now, must_finish, must_be_healthy)
    if now.status == "restarting" or (now.status == "created" and not now.error):
        return Readiness("waiting", "being started")
    return Readiness("failed", f"is {now.status}: {now.error}" if now.error else f"is {now.status}")


def _running(now: ContainerState, must_finish: bool, must_be_healthy: bool) -> Readiness:
    if must_finish:
        return Readiness("waiting", "at work")
    if now.health is None:
        missing = "has no health check, and others wait for its health"
        return Readiness("failed", missing) if must_be_healthy else Readiness("ready", "running")
    if now.health == "healthy":
        return Readiness("ready", "healthy")
    return Readiness("waiting", "starting") if now.health == "starting" else Readiness("failed", "is unhealthy")


def _exited(now: ContainerState, must_finish: bool) -> Readiness:
    if now.exit_code:
        return Readiness("failed", f"ended with code {now.exit_code}")
    if must_finish or now.health is None:
        return Readiness("ready", "done")
    return Readiness("failed", "ended, and should run on")


def may_start(service: ServiceSpec, started: Collection[str], ready: Collection[str]) -> bool:
    """Whether its dependencies have started, or are `ready` (healthy, or done) where it waits for that."""
    return all(
        need.service in (started if need.condition == "service_started" else ready) for need in service.depends_on
    )


def usual_seconds(project: ProjectSpec, containers: Iterable[ContainerState]) -> dict[str, float]:
    """How long a service took to get healthy when its container was last started, as far as Docker still knows: its
    earliest dependent was started the moment it was ready. Nothing for one that was started after its dependents."""
    started = {container.service: container.started for container in containers if container.started}
    found: dict[str, list[float]] = {}
    for service in project.services:
        for need in service.depends_on:
            first, then = started.get(need.service), started.get(service.name)
            if first and then and then > first and need.condition == "service_healthy":
                found.setdefault(need.service, []).append((then - first).total_seconds())
    return {name: min(seconds) for name, seconds in found.items() if min(seconds) < LONGEST_START}
