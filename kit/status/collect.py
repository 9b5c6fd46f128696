"""One look at a running project: Docker's word for each container, each worker's /metrics, the router's list, and what
each worker holds. Whatever cannot be asked stays unknown; a worker at work is never kept waiting for long."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from kit.compose import exec as inside
from kit.compose import ps
from kit.compose.client import translate_errors
from kit.compose.ps import ContainerSummary
from kit.compose.stats import used_memory
from kit.diagnostics.explain import explain, explain_exit
from kit.diagnostics.pattern import Explanation
from kit.errors import TargetError
from kit.gpu import Gpu
from kit.metrics import Load, load
from kit.status import model as views
from kit.status.model import (
    ServiceReport,
    Status,
)

if TYPE_CHECKING:
    from docker import DockerClient

WORKER_PORT = 8000
ROUTER = "router"  # its service, whatever else has the role
LOG_READ = 400  # lines that are looked through for a cause
REMEMBERED = 3600  # seconds that Docker is asked for events of; it keeps the last few hundred


def look(
    client: DockerClient,
    project: str,
    card: Callable[[], Gpu | None] = lambda: None,
    before: Mapping[str, Load] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Status:
    """`card` asks the driver (or the host) once; `before` holds the loads of an earlier look, for tokens a second.
    Raises TargetError when Docker does not answer."""
    found = ps.status(project, client)
    gpu = card() if found else None
    held = _held(client, project, found, gpu)
    return Status(
        project=project,
        now=datetime.now(UTC),
        services=tuple(_service(client, project, each, held.get(each.service), before or {}, clock) for each in found),
        url=_url(found),
        routed=_routed(client, found),
        memory=gpu.name if gpu else "",
        total=gpu.total_bytes if gpu else None,
        free=gpu.free_bytes if gpu else None,
    )


def _service(
    client: DockerClient,
    project: str,
    one: ContainerSummary,
    held: int | None,
    before: Mapping[str, Load],
    clock: Callable[[], float],
) -> ServiceReport:
    load = _load(client, one, clock) if one.role == "worker" and one.state == "running" else None
    seen = ServiceReport(
        name=one.service,
        role=one.role,
        task=one.task,
        names=one.names,
        state=one.state,
        health=one.health,
        started=one.started,
        restarts=one.restarts,
        exit_code=one.exit_code,
        image=one.image,
        planned=one.planned,
        held=held,
        load=load,
        tokens=views.rate(before.get(one.service), load, one.task),
        made=one.made,
    )
    if one.state == "running" and one.restarts and one.health != "unhealthy":
        log = _log_before(client, one)
        return views.with_cause(seen, explain(log), log)
    if seen.well or seen.health == "starting":
        return seen
    log = _log(client, project, one)
    return views.with_cause(seen, _cause(one, log), log)


def why(client: DockerClient, project: str, name: str) -> Explanation | None:
    """Why a service (or the one that serves a name) does not run as it should; None when it does, or nobody knows."""
    for one in ps.status(project, client):
        ended = one.state != "running" and (one.role != "fetch" or one.exit_code != 0)
        if name in (one.service, one.container, *one.names) and (ended or one.health == "unhealthy"):
            return _cause(one, _log(client, project, one))
    return None


def _load(client: DockerClient, one: ContainerSummary, clock: Callable[[], float]) -> Load | None:
    try:
        at = clock()
        return load(inside.get(client, one.container, WORKER_PORT, "/metrics"), at)
    except TargetError:
        return None


def _log(client: DockerClient, project: str, one: ContainerSummary) -> str:
    try:
        return "\n".join(ps.logs(project, client, one.service, tail=LOG_READ))
    except TargetError:
        return ""


def _log_before(client: DockerClient, one: ContainerSummary) -> str:
    """The end of the log from before Docker started it again, of that one run as far as Docker's events reach back."""
    if one.started is None:
        return ""
    now, until = time.time(), one.started.timestamp()
    asked: dict[str, list[str]] = {"container": [one.container], "event": ["start"]}
    with translate_errors(f"the log of {one.service} cannot be read"):
        seen = client.api.events(since=int(now - REMEMBERED), until=int(now) + 1, filters=asked, decode=True)
        starts = sorted(each["timeNano"] / 1e9 for each in seen)
        since = max((at for at in starts if at < until - 0.05), default=None)
        said: bytes = client.api.logs(one.container, tail=LOG_READ, since=since, until=until)
    return said.decode(errors="replace")


def _cause(one: ContainerSummary, log: str) -> Explanation | None:
    by_exit = explain_exit(one.exit_code, one.out_of_memory) if one.exit_code is not None else None
    return by_exit if one.out_of_memory else explain(log) or by_exit


def _url(found: tuple[ContainerSummary, ...]) -> str | None:
    """Where the router is published."""
    port = next((port for each in found if each.role == "router" for port in each.ports), None)
    if port is None:
        return None
    host = "127.0.0.1" if port.host_ip in ("", "0.0.0.0", "::") else port.host_ip
    return f"http://[{host}]:{port.port}" if ":" in host else f"http://{host}:{port.port}"


def _routed(client: DockerClient, found: tuple[ContainerSummary, ...]) -> dict[str, str] | None:
    router = next((each for each in found if each.service == ROUTER and each.state == "running"), None)
    if router is None:
        return None
    try:
        return views.routed(inside.workers(client, router.container))
    except TargetError:
        return None


def _held(
    client: DockerClient, project: str, found: tuple[ContainerSummary, ...], gpu: Gpu | None
) -> dict[str, int | None]:
    """Service -> bytes: of the card by the driver's word for each process, of the host by the kernel's for each
    container."""
    workers = [each for each in found if each.role == "worker" and each.state == "running"]
    if gpu is None or not workers:
        return {}
    if gpu.kind == "host":
        return {each.service: _of_the_host(client, each) for each in workers}
    by_pid = {process.pid: process.bytes for process in gpu.processes}
    pids = inside.pids(client, project, {each.service for each in workers})
    return {name: sum(by_pid.get(pid, 0) for pid in listed) or None for name, listed in pids.items()}


def _of_the_host(client: DockerClient, one: ContainerSummary) -> int | None:
    with translate_errors(f"what {one.service} holds cannot be read"):
        return used_memory(client.api.stats(one.container, stream=False, one_shot=True))
