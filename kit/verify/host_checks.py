"""What Docker on this host knows beside the answers: which workers cannot serve, and which ports are open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

from kit.compose import up
from kit.compose.ps import ContainerSummary
from kit.compose.spec import ProjectSpec
from kit.stack.model import Probe
from kit.status import collect
from kit.verify import responses
from kit.verify.checks import check
from kit.verify.client import VerifyClient
from kit.verify.responses import Verdict
from kit.verify.results import Check

if TYPE_CHECKING:
    from docker import DockerClient

WORKER_PORT = 8000


def ailing(project: ProjectSpec, probes: tuple[Probe, ...], client: DockerClient) -> dict[str, str]:
    """Workers that cannot serve now -> why, with the fix where their log tells it. Of one that only starts, and of a
    name that a replica serves, nothing is said: they are asked."""
    running = up.status(project.name, client)
    unwell = {each.service: words for each in running if (words := _unwell(each))}
    served = {name for each in running if each.role == "worker" and each.service not in unwell for name in each.names}
    found = {probe.service for probe in probes if probe.service in unwell and probe.name not in served}
    return {service: unwell[service] + _why(project, client, service) for service in sorted(found)}


def _unwell(one: ContainerSummary) -> str:
    if one.state == "running":
        return f"{one.service} is unhealthy" if one.health == "unhealthy" else ""
    if one.state in ("created", "restarting"):
        return ""
    return f"{one.service} is {one.state}" if one.exit_code is None else f"{one.service} ended with {one.exit_code}"


def _why(project: ProjectSpec, client: DockerClient, service: str) -> str:
    why = collect.why(client, project.name, service)
    return f": {why.cause}; {why.fix}" if why else f"; `monogpu-kit logs {service}` shows its log, `up` fixes it"


def ports(
    project: ProjectSpec, probes: tuple[Probe, ...], client: DockerClient, asker: VerifyClient
) -> Iterator[Check]:
    """That the router alone is published, and that no worker answers on this host."""
    running = up.status(project.name, client)
    open_ports = {port.port: each.service for each in running if each.role != "router" for port in each.ports}
    yield check(asker, "published ports", "are the router's alone", lambda: _published(open_ports))
    names = {probe.name for probe in probes}
    ours = {port.port for each in running if each.role == "router" for port in each.ports}
    for port in sorted({WORKER_PORT, *open_ports} - ours):
        yield check(asker, f"127.0.0.1:{port}", "reaches no worker", partial(_reaches_no_worker, asker, port, names))


def _published(open_ports: Mapping[int, str]) -> Verdict:
    listed = ", ".join(f"{service}: {port}" for port, service in sorted(open_ports.items()))
    return Verdict(not open_ports, f"published too: {listed}" if listed else "no worker is published")


def _reaches_no_worker(asker: VerifyClient, port: int, names: set[str]) -> Verdict:
    """Another program may well listen there; one that serves our names is a worker."""
    answer = responses.listed(*asker.get(f"http://127.0.0.1:{port}/v1/models"))
    served = sorted(names & answer)
    return Verdict(not served, f"{', '.join(served)} is served there" if served else "no worker answers")
