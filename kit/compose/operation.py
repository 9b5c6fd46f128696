"""What is done to a project, one thing after another: the words of a walk. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kit.compose.observed import ContainerState

ServiceVerb = Literal["keep", "create", "replace", "start", "restart", "resume"]
Verb = (
    Literal["pull", "drain", "remove", "remove network", "create network", "create volume", "stop", "remove volume"]
    | ServiceVerb
)

SERVICE_VERBS: tuple[ServiceVerb, ...] = ("keep", "create", "replace", "start", "restart", "resume")
LAST = ("remove volume",)  # a container that is replaced may hold one until then
RECREATING = ("create", "replace")
STARTING = (*RECREATING, "start", "restart")


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
