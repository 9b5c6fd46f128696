"""One operation on a project, and which one a service needs: the file compared with its container. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from kit.compose import create_request as labels
from kit.compose.observed import ContainerState, ObservedState
from kit.compose.spec import ProjectSpec, ServiceSpec

ServiceVerb = Literal["keep", "create", "replace", "start", "restart", "resume"]
Verb = (
    Literal["pull", "drain", "remove", "remove network", "create network", "create volume", "stop", "remove volume"]
    | ServiceVerb
)

SERVICE_VERBS: tuple[ServiceVerb, ...] = ("keep", "create", "replace", "start", "restart", "resume")
LAST = ("remove volume",)  # a container that is replaced may hold one until then
RECREATING = ("create", "replace")
STARTING = (*RECREATING, "start", "restart")
DIFFERENCES = 4  # of a command, that are named
_BY_STATUS: Mapping[str, tuple[ServiceVerb, str]] = {
    "paused": ("resume", "was paused"),
    "created": ("start", "was made, but not started"),
}


@dataclass(frozen=True)
class Operation:
    """One thing to do to `name`: a service, a network, a volume or an image. `container` is the one it is done to;
    `targets` are the services that a drain takes out of the router, `before` the service whose turn it comes right
    before, "" where it comes before all of them."""

    verb: Verb
    name: str
    cause: str
    container: ContainerState | None = None
    targets: tuple[str, ...] = ()
    before: str = ""

    def __str__(self) -> str:
        return f"{self.verb} {self.name}: {self.cause}"

    @property
    def interrupts(self) -> bool:
        """Whether it takes a running container away, at least for a while."""
        taken = self.container if self.verb in ("remove", "replace", "restart") else None
        return taken is not None and taken.status == "running"


def drain(names: Sequence[str], before: str = "") -> Operation:
    """Takes workers out of the router and waits until they have answered."""
    return Operation("drain", ", ".join(names), "open requests are answered first", None, tuple(names), before)


def service_operation(
    service: ServiceSpec,
    container: ContainerState | None,
    project: ProjectSpec,
    observed: ObservedState,
    hashes: Mapping[str, str],
) -> Operation:
    """What a service needs for itself. `container` is the one that it has; `hashes` are Docker Compose's."""
    if container is None:
        return Operation("create", service.name, "is not there yet")
    if why := _difference(service, container, project, observed, hashes):
        return Operation("replace", service.name, why, container)
    verb, cause = _by_state(container, "service_completed_successfully" in project.awaited(service.name))
    return Operation(verb, service.name, cause, container)


def _difference(
    service: ServiceSpec,
    container: ContainerState,
    project: ProjectSpec,
    observed: ObservedState,
    hashes: Mapping[str, str],
) -> str:
    """How the container differs from the file; "" when it does not."""
    if container.name != service.container:
        return f"is called {container.name}"
    if why := _changed(service, container, hashes.get(service.name, "")):
        return why
    if observed.image(service.image) not in (None, container.image):
        return f"{service.image} is another build now"
    wanted = {project.network(use.network).name for use in service.networks} or {
        service.network_mode or labels.NO_NETWORK
    }
    if wanted != container.networks:
        return f"is not on the networks {', '.join(sorted(wanted))}"
    return "cannot be started again" if container.status in ("dead", "removing") else ""


def _changed(service: ServiceSpec, container: ContainerState, wanted: str) -> str:
    """The kit's digests name what changed. Compose's hash counts as well: either may be of an older version."""
    if wanted and container.label(labels.CONFIG_HASH) == wanted:
        return ""
    if before := container.label(labels.DIGESTS):
        return _keys_changed(labels.changed_keys(before, service), service, container)
    return "its settings changed"


def _keys_changed(keys: tuple[str, ...], service: ServiceSpec, container: ContainerState) -> str:
    """Where the command changed, its flags say it best; the kit's own labels follow from them."""
    flags = command_changes(container.command, service.command) if "command" in keys else ""
    others = ", ".join(key for key in keys if not flags or key not in ("command", "labels"))
    return "; ".join(filter(None, (flags, others and f"{others} changed")))


def _by_state(container: ContainerState, one_shot: bool) -> tuple[ServiceVerb, str]:
    if container.status == "exited":
        done = one_shot and container.exit_code == 0
        return ("keep", "did its work") if done else ("start", f"had stopped with code {container.exit_code}")
    unhealthy = container.health == "unhealthy"
    return _BY_STATUS.get(container.status) or (("restart", "was unhealthy") if unhealthy else ("keep", "unchanged"))


def command_changes(before: Sequence[str], after: Sequence[str]) -> str:
    """`--max-model-len 1024 -> 512, + --enforce-eager`; "" when nothing changed, or `before` is unknown."""
    found = list(_differences(flags(before), flags(after))) if before else []
    more = [f"and {len(found) - DIFFERENCES} more"] if len(found) > DIFFERENCES else []
    return ", ".join([*found[:DIFFERENCES], *more])


def _differences(old: dict[str, str], new: dict[str, str]) -> Iterator[str]:
    for flag in dict.fromkeys((*old, *new)):
        before, after = old.get(flag), new.get(flag)
        if before is None:
            yield f"+ {flag} {after}".rstrip()
        elif after is None:
            yield f"- {flag} {before}".rstrip()
        elif before != after:
            yield f"{flag} {before} -> {after}".lstrip()


def flags(command: Sequence[str]) -> dict[str, str]:
    """Flag -> its values in one text; what precedes the first flag is under ""."""
    found: dict[str, list[str]] = {}
    flag = ""
    for argument in command:
        if argument.startswith("--"):
            flag = argument
        found.setdefault(flag, []).extend([] if argument.startswith("--") else [argument])
    return {flag: " ".join(values) for flag, values in found.items()}
