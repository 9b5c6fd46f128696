"""What a project's labels alone tell and allow, without its file: `status`, `logs` and `down`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, Any

from kit.compose import create_request
from kit.compose.client import translate_errors
from kit.compose.events import Did, Watch, unwatched
from kit.compose.observe import containers
from kit.compose.observed import ContainerState, ContainerSummary, publications
from kit.compose.reconcile import stop_order
from kit.diagnostics import docker_errors
from kit.diagnostics.explain import explain, explain_exit, remark
from kit.diagnostics.pattern import Explanation
from kit.errors import Problem, TargetError

if TYPE_CHECKING:
    from docker import DockerClient


CAUSE_LINES = 400  # lines of a log that are searched for a cause


def status(project: str, client: DockerClient) -> tuple[ContainerSummary, ...]:
    """The project's containers in boot order; () when there are none. Raises TargetError."""
    with translate_errors(f"the state of {project} cannot be read"):
        listed = client.api.containers(all=True, filters={"label": f"{create_request.PROJECT}={project}"})
        ports = [port for entry in listed for port in publications(entry)]
        return tuple(
            ContainerSummary(**vars(one), ports=tuple(port for port in ports if port.container == one.name))
            for one in reversed(stop_order(containers(client, project)))
        )


def cause_of(container: ContainerState, log: str) -> Explanation | None:
    """Why it ended, is unhealthy or could not be started, as far as its exit code, its log and Docker say."""
    by_exit = explain_exit(container.exit_code, container.out_of_memory)
    return by_exit if container.out_of_memory else explain(log) or docker_errors.explain(container.error) or by_exit


def said_by(container: ContainerSummary, log: str) -> Explanation | None:
    """Why it does not run as it should; where it does, what its log says of how it serves."""
    ended = container.status != "running" and (container.role != "download" or container.exit_code != 0)
    if ended or container.health == "unhealthy":
        return cause_of(container, log)
    return remark(log) if container.status == "running" else None


def log_of(
    client: DockerClient, container: str, lines: int, since: float | None = None, until: float | None = None
) -> str:
    """The end of a container's log, "" when the container is gone."""
    from docker.errors import APIError

    try:
        log: bytes = client.api.logs(container, tail=lines, since=since, until=until)
    except APIError:
        return ""
    return log.decode(errors="replace").rstrip()


def logs(project: str, client: DockerClient, name: str, *, follow: bool = False, tail: int = 100) -> Iterator[str]:
    """The lines of a service's log; `name` is a service, a container, or a name that clients ask for. Raises
    TargetError when nothing is called so."""
    doing = f"the log of {name} cannot be read"
    with translate_errors(doing):
        container = _find(status(project, client), project, name)
        stream = client.api.logs(container.id, stream=True, follow=follow, tail=tail)
    return _lines(stream, doing)


def _find(found: tuple[ContainerSummary, ...], project: str, name: str) -> ContainerSummary:
    if not found:
        raise TargetError(Problem(f"nothing runs of {project}", "`monogpu-kit up` starts it"))
    called = {each: container for container in reversed(found) for each in (*container.names, container.name)}
    called |= {container.service: container for container in found}
    if name not in called:
        near = get_close_matches(name, called, 1)
        hint = f"did you mean {near[0]}?" if near else ""
        raise TargetError(Problem(f"{project} has no {name}", f"it has {', '.join(sorted(called))}", hint))
    return called[name]


def _lines(stream: Iterator[bytes], doing: str) -> Iterator[str]:
    """Chunks of bytes end anywhere; lines end with \n."""
    rest = b""
    with translate_errors(doing):
        for chunk in stream:
            *whole, rest = (rest + chunk).split(b"\n")
            yield from (line.decode(errors="replace").rstrip("\r") for line in whole)
    if rest:
        yield rest.decode(errors="replace")


def down(project: str, client: DockerClient, watch: Watch = unwatched, *, volumes: bool = False) -> tuple[Did, ...]:
    """Stops and removes the project's containers, dependents first, then its networks and, when asked, its volumes.
    Nothing is left to do the second time. Raises TargetError."""
    done: list[Did] = []

    def remove(verb: str, name: str, act: Callable[[], object]) -> None:
        with translate_errors(f"{verb.removeprefix('remove')} {name} cannot be removed".strip()):
            act()
        done.append(Did(verb, name, "down"))
        watch(done[-1])

    ours: Any = {"label": f"{create_request.PROJECT}={project}"}
    with translate_errors(f"the containers of {project} cannot be listed"):
        found = stop_order(containers(client, project))
    for one in found:
        remove("remove", one.name, partial(remove_container, client, one, one.stop_seconds, volumes))
    with translate_errors(f"the networks and volumes of {project} cannot be listed"):
        networks = client.api.networks(filters=ours)
        kept = client.api.volumes(filters=ours)["Volumes"] or () if volumes else ()
    for name in sorted(each["Name"] for each in networks):
        remove("remove network", name, partial(client.api.remove_network, name))
    for name in sorted(each["Name"] for each in kept):
        remove("remove volume", name, partial(client.api.remove_volume, name))
    return tuple(done)


def remove_container(client: DockerClient, container: ContainerState, grace: int, volumes: bool = False) -> None:
    """Stops it, with `grace` seconds to end by itself, and removes it; nothing is wrong when it is gone already."""
    from docker.errors import NotFound

    try:
        client.api.stop(container.id, timeout=grace)
        client.api.remove_container(container.id, v=volumes, force=True)
    except NotFound:
        return
