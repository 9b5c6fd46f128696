"""Asks a running stack whether it does what its compose file promises, name by name.

`/health` and `/readiness` say nothing about models. So every declared name is asked for a token (or a vector), plain
and streamed; an undeclared name must be unknown; an adapter must answer otherwise than its base; and no worker may be
reachable from the host. A router that has just started is given time: it learns its workers one by one.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from kit.compose import up
from kit.compose.spec import ProjectSpec, ServiceSpec
from kit.compose.wait import CLOCK, Clock
from kit.errors import Problem, TargetError
from kit.routers.smg import KEY_FILE
from kit.stack.comments import endpoint
from kit.stack.labels import ROLE, probes_of
from kit.stack.model import Probe
from kit.verify import host_checks
from kit.verify.checks import Check, Verification, checks_of
from kit.verify.client import VerifyClient

if TYPE_CHECKING:
    import httpx
    from docker import DockerClient

__all__ = ["Check", "Verification", "key_of", "probes_from", "run", "url_of", "verify"]

PATIENCE = 60.0  # seconds, for a router that has just started
ANSWER_SECONDS = 60.0  # for one answer; the first one took 20 s on two busy cores
CONNECT_SECONDS = 5.0
KEY = "MONOGPU_API_KEY"  # in the router's environment, whatever the manifest calls it


def run(
    folder: Path,
    environ: Mapping[str, str],
    url: str | None = None,
    client: DockerClient | None = None,
    *,
    transport: httpx.BaseTransport | None = None,
    clock: Clock = CLOCK,
    patience: float = PATIENCE,
) -> Verification:
    """Asks the stack of a folder's compose file, at `url` or where its router is published. With a Docker `client`
    also what only this host can tell. Raises TargetError when the file cannot be read."""
    import httpx

    project, notes = _promised(folder, environ, client)
    at = (url or url_of(project)).rstrip("/").removesuffix("/v1")
    probes = probes_from(project)
    timeout = httpx.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS)
    # A proxy for the outside world must not be asked for this machine.
    with httpx.Client(timeout=timeout, trust_env=url is not None, transport=transport) as http:
        down = host_checks.down(project, probes, client) if client else {}
        checks = verify(at, probes, http, key_of(project), clock=clock, patience=patience, down=down)
        if client is None:
            return Verification(at, checks, (*notes, "whether workers are reachable: needs Docker"))
        asking = VerifyClient(http, at, key_of(project), clock, clock.now())
        return Verification(at, (*checks, *host_checks.ports(project, probes, client, asking)), notes)


def _promised(
    folder: Path, environ: Mapping[str, str], client: DockerClient | None
) -> tuple[ProjectSpec, tuple[str, ...]]:
    """What the compose file promises; where it cannot be read, what the labels of what runs do, and that it is so."""
    try:
        return up.read(folder, environ), ()
    except TargetError as error:
        if client is None:
            raise
        found = host_checks.running(up.project_name(folder, environ), folder / up.FILE, client)
        return found, (f"what is no longer running: the compose file cannot be read: {error.problems[0].what}",)


def probes_from(project: ProjectSpec) -> tuple[Probe, ...]:
    """Every name that the workers' labels promise, once."""
    found: dict[str, Probe] = {}
    for service in project.services:
        for probe in probes_of(service.name, dict(service.labels)):
            found.setdefault(probe.name, probe)
    return tuple(found.values())


def url_of(project: ProjectSpec) -> str:
    """Where the router is published. Raises TargetError when it is not."""
    port = next((port for port in _router(project).ports if port.published), None)
    if port is None:
        raise TargetError(Problem("the router is not published", "say where it is reached: `verify --url`"))
    return endpoint(port.host_ip, port.published)


def key_of(project: ProjectSpec) -> str | None:
    """The key that clients must send, None without one. Raises TargetError when its file cannot be read."""
    router = _router(project)
    variables = dict(text.split("=", 1) for text in router.environment if "=" in text)
    file = next((mount for mount in router.mounts if mount.target == KEY_FILE), None)
    if file is None:
        return variables.get(KEY) or None
    try:
        return Path(file.source).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise TargetError(Problem(f"the key in {file.source} cannot be read", str(error))) from None


def _router(project: ProjectSpec) -> ServiceSpec:
    """The one that is published: where something stands in front of the router, both have the role."""
    found = [each for each in project.services if dict(each.labels).get(ROLE) == "router"]
    if not found:
        raise TargetError(Problem(f"{project.file.name} has no router", f"its label {ROLE} would say so"))
    return next((each for each in found if each.ports), found[0])


def verify(
    url: str,
    probes: tuple[Probe, ...],
    http: httpx.Client,
    key: str | None,
    *,
    clock: Clock = CLOCK,
    patience: float = PATIENCE,
    down: Mapping[str, str] | None = None,
) -> tuple[Check, ...]:
    """The checks that any client can make. `patience` is how many seconds a router that has just started is given, in
    all; `down` maps workers that are not asked to why."""
    return tuple(checks_of(VerifyClient(http, url, key, clock, clock.now() + patience), probes, down or {}))
