"""What Docker on this host knows beside the answers: which workers cannot serve, and which ports are open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kit.compose import up
from kit.compose.client import translate_errors
from kit.compose.observed import ContainerSummary
from kit.compose.spec import MountSpec, PortSpec, ProjectSpec, ServiceSpec
from kit.stack.labels import port_of
from kit.stack.model import Probe
from kit.status import collect
from kit.verify import responses
from kit.verify.checks import Check, check
from kit.verify.client import VerifyClient
from kit.verify.responses import Verdict

if TYPE_CHECKING:
    from docker import DockerClient


def down(project: ProjectSpec, probes: tuple[Probe, ...], docker: DockerClient) -> dict[str, str]:
    """Workers that cannot serve now -> why, with the fix where their log tells it. One that only starts is left out,
    and so is a name that a replica serves: they are asked."""
    running = up.status(project.name, docker)
    unwell = {each.service: words for each in running if (words := _unwell(each))}
    served = {name for each in running if each.role == "worker" and each.service not in unwell for name in each.names}
    found = {probe.service for probe in probes if probe.service in unwell and probe.name not in served}
    return {service: unwell[service] + _why(project, docker, service) for service in sorted(found)}


def running(name: str, file: Path, docker: DockerClient) -> ProjectSpec:
    """What runs of a project, as far as it is asked and checked."""
    found = up.status(name, docker)
    with translate_errors(f"what runs of {name} cannot be inspected"):
        services = tuple(_service(one, docker.api.inspect_container(one.id)) for one in found)
    return ProjectSpec(name, file, services, (), ())


def _service(one: ContainerSummary, attrs: Mapping[str, Any]) -> ServiceSpec:
    return ServiceSpec(
        one.service,
        one.image_name,
        one.name,
        environment=tuple(attrs["Config"].get("Env") or ()),
        labels=tuple((one.labels or {}).items()),
        mounts=tuple(MountSpec(m["Type"], m.get("Source") or "", m["Destination"]) for m in attrs.get("Mounts") or ()),
        ports=tuple(PortSpec(port.host_ip, str(port.port), 0) for port in one.ports),
    )


def _unwell(one: ContainerSummary) -> str:
    if one.status == "running":
        return f"{one.service} is unhealthy" if one.health == "unhealthy" else ""
    if one.status in ("created", "restarting"):
        return ""
    return f"{one.service} is {one.status}" if one.ended is None else f"{one.service} ended with {one.ended}"


def _why(project: ProjectSpec, docker: DockerClient, service: str) -> str:
    why = collect.why(docker, project.name, service)
    return f": {why.cause}; {why.fix}" if why else f"; `monogpu-kit logs {service}` shows its log, `up` fixes it"


def ports(
    project: ProjectSpec, probes: tuple[Probe, ...], docker: DockerClient, client: VerifyClient
) -> Iterator[Check]:
    """That the router alone is published, and that no worker answers on this host."""
    running = up.status(project.name, docker)
    open_ports = {port.port: each.service for each in running if each.role != "router" for port in each.ports}
    yield check(client, "published ports", "are the router's alone", lambda: _published(open_ports))
    names = {probe.name for probe in probes}
    ours = {port.port for each in running if each.role == "router" for port in each.ports}
    inside = {port_of(each.labels or {}) for each in running if each.role == "worker"}
    for port in sorted({*inside, *open_ports} - ours):
        yield check(client, f"127.0.0.1:{port}", "reaches no worker", partial(_reaches_no_worker, client, port, names))


def _published(open_ports: Mapping[int, str]) -> Verdict:
    listed = ", ".join(f"{service}: {port}" for port, service in sorted(open_ports.items()))
    return Verdict(not open_ports, f"published too: {listed}" if listed else "no worker is published")


def _reaches_no_worker(client: VerifyClient, port: int, names: set[str]) -> Verdict:
    """Another program may well listen there; one that serves our names is a worker."""
    answer = responses.listed(*client.get(f"http://127.0.0.1:{port}/v1/models"))
    served = sorted(names & answer)
    return Verdict(not served, f"{', '.join(served)} is served there" if served else "no worker answers")
