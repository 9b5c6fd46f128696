"""Collects the status of a project: Docker's state of each container, each worker's load, the router's list, and what
each worker uses. Whatever does not answer stays unknown; a busy worker is never kept waiting for long."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from kit.compose import exec as container_exec
from kit.compose import ps, stats
from kit.compose.client import translate_errors
from kit.compose.observed import ContainerSummary
from kit.compose.ps import CAUSE_LINES, cause_of, log_of
from kit.diagnostics.explain import explain
from kit.diagnostics.pattern import Explanation
from kit.errors import TargetError
from kit.gpu import Gpu
from kit.metrics import Load
from kit.routers import drain_state
from kit.routers.smg import NAME as ROUTER
from kit.stack.comments import endpoint
from kit.status.model import ServiceReport, Status, rate, with_cause

if TYPE_CHECKING:
    from docker import DockerClient

EVENTS_SECONDS = 3600  # that Docker is asked for events of; it keeps the last few hundred


def collect(
    client: DockerClient,
    project: str,
    card: Callable[[], Gpu | None] = lambda: None,
    before: Mapping[str, Load] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Status:
    """`card` asks the driver (or the host) once; `before` holds the loads of an earlier status, for tokens a second.
    Raises TargetError when Docker does not answer."""
    found = ps.status(project, client)
    gpu = card() if found else None
    held = _held(client, project, found, gpu)
    return Status(
        project=project,
        now=datetime.now(UTC),
        services=tuple(_service(client, each, held.get(each.service), before or {}, clock) for each in found),
        url=next((endpoint(p.host_ip, p.port) for each in found if each.role == "router" for p in each.ports), None),
        routed=_routed(client, found),
        memory=gpu.name if gpu else "",
        total=gpu.total_bytes if gpu else None,
        free=gpu.free_bytes if gpu else None,
    )


def _service(
    client: DockerClient,
    one: ContainerSummary,
    held: int | None,
    before: Mapping[str, Load],
    clock: Callable[[], float],
) -> ServiceReport:
    load = stats.load(client, one, clock()) if one.role == "worker" and one.status == "running" else None
    tokens = rate(before.get(one.service), load, one.task)
    report = ServiceReport(**vars(one), held=held, load=load, tokens=tokens)
    if one.status == "running" and one.restarts and one.health != "unhealthy":
        log = _log_before(client, one)
        return with_cause(report, explain(log), log)
    if report.well or report.health == "starting":
        return report
    log = log_of(client, one.id, CAUSE_LINES)
    return with_cause(report, cause_of(one, log), log)


def why(client: DockerClient, project: str, name: str) -> Explanation | None:
    """What the log of a service (or of the one that serves a name) says: why it does not run as it should, or how it
    serves. None when it does not tell."""
    for one in ps.status(project, client):
        if name in (one.service, one.name, *one.names) and (
            found := ps.said_by(one, log_of(client, one.id, CAUSE_LINES))
        ):
            return found
    return None


def _log_before(client: DockerClient, one: ContainerSummary) -> str:
    """The end of the log from before Docker restarted it, of the last start as far as Docker's events reach back."""
    if one.started is None:
        return ""
    now, until = time.time(), one.started.timestamp()
    filters: dict[str, list[str]] = {"container": [one.name], "event": ["start"]}
    with translate_errors(f"the log of {one.service} cannot be read"):
        events = client.api.events(since=int(now - EVENTS_SECONDS), until=int(now) + 1, filters=filters, decode=True)
        starts = sorted(each["timeNano"] / 1e9 for each in events)
        since = max((at for at in starts if at < until - 0.05), default=None)
        return log_of(client, one.id, CAUSE_LINES, since, until)


def _routed(client: DockerClient, found: tuple[ContainerSummary, ...]) -> dict[str, str] | None:
    router = next((each for each in found if each.service == ROUTER and each.status == "running"), None)
    if router is None:
        return None
    try:
        return drain_state.routed(container_exec.workers(client, router.id))
    except TargetError:
        return None


def _held(
    client: DockerClient, project: str, found: tuple[ContainerSummary, ...], gpu: Gpu | None
) -> dict[str, int | None]:
    """Service -> bytes: of the card by the driver's count for each process, of the host by the kernel's for each
    container."""
    workers = {each.service for each in found if each.role == "worker" and each.status == "running"}
    if gpu is None or not workers:
        return {}
    if gpu.kind == "host":
        return {name: used for name, used in stats.memory(client, project).items() if name in workers}
    by_pid = {process.pid: process.bytes for process in gpu.processes}
    pids = container_exec.pids(client, project, workers)
    return {name: sum(by_pid.get(pid, 0) for pid in listed) or None for name, listed in pids.items()}
