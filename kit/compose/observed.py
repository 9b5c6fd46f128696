"""What Docker runs, at one moment, as values: parsed from the Engine's answers. Pure; observe.py asks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kit.compose import create_request as labels
from kit.stack import labels as kit_labels


@dataclass(frozen=True)
class Publication:
    """A port that a container holds on the host: `host_ip` is "0.0.0.0" or "::" for every address."""

    container: str
    project: str | None
    host_ip: str
    port: int
    protocol: str = "tcp"


@dataclass(frozen=True)
class ContainerState:
    """One container of the project. `image` is the id of the image that it runs; `health` is None without a check;
    `probe` is what the last health check printed; times are None before the first start or end."""

    id: str
    name: str
    service: str
    number: int
    image: str
    status: str
    health: str | None = None
    probe: str = ""
    exit_code: int = 0
    out_of_memory: bool = False
    error: str = ""
    restarts: int = 0
    started: datetime | None = None
    finished: datetime | None = None
    labels: Mapping[str, str] | None = None
    networks: frozenset[str] = frozenset()
    image_name: str = ""
    stop_seconds: int = 10
    command: tuple[str, ...] = ()
    made: datetime | None = None

    def label(self, name: str) -> str:
        """A label's value, or ""."""
        return (self.labels or {}).get(name, "")


@dataclass(frozen=True)
class ContainerSummary(ContainerState):
    """A container with the ports that it publishes, and what its labels say of it."""

    ports: tuple[Publication, ...] = ()

    @property
    def role(self) -> str:
        """worker, router, fetch, mps or ""."""
        return self.label(kit_labels.ROLE)

    @property
    def task(self) -> str:
        """What its models do; "" for another container."""
        return self.label(kit_labels.TASK)

    @property
    def names(self) -> tuple[str, ...]:
        """What clients put in "model"."""
        return tuple(name for name in self.label(kit_labels.SERVED_NAMES).split(",") if name)

    @property
    def planned(self) -> int | None:
        """The footprint that the plan promised, in bytes."""
        said = self.label(kit_labels.BYTES)
        return int(said) if said.isdecimal() else None

    @property
    def ended(self) -> int | None:
        """Its exit code, None while it runs or before its first start."""
        return self.exit_code if self.status in ("exited", "dead") else None


@dataclass(frozen=True)
class NetworkState:
    """A network that exists, by its name; `options` are its driver's, sorted."""

    name: str
    internal: bool
    project: str | None
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class ObservedState:
    """`images` maps the names that the file uses to ids, None where the image is not on this machine;
    `names` are those of all containers that are not the project's; `owned` are the volumes that are."""

    containers: tuple[ContainerState, ...] = ()
    networks: tuple[NetworkState, ...] = ()
    volumes: frozenset[str] = frozenset()
    images: Mapping[str, str | None] | None = None
    published: tuple[Publication, ...] = ()
    names: frozenset[str] = frozenset()
    owned: frozenset[str] = frozenset()

    def image(self, name: str) -> str | None:
        """The id of an image, None when it is not here."""
        return (self.images or {}).get(name)

    def network(self, name: str) -> NetworkState | None:
        """The network of this name."""
        return next((network for network in self.networks if network.name == name), None)


def container(attrs: Mapping[str, Any]) -> ContainerState:
    """GET /containers/{id}/json -> ContainerState."""
    state, config = attrs["State"], attrs["Config"]
    found: Mapping[str, str] = config.get("Labels") or {}
    health = state.get("Health") or {}
    probes = health.get("Log") or []
    number = found.get(labels.NUMBER, "1")
    return ContainerState(
        id=attrs["Id"],
        name=attrs["Name"].lstrip("/"),
        service=found.get(labels.SERVICE, ""),
        number=int(number) if number.isdecimal() else 1,
        image=attrs["Image"],
        status=state["Status"],
        health=health.get("Status") if health.get("Status") != "none" else None,
        probe=(probes[-1].get("Output") or "").strip() if probes else "",
        exit_code=state.get("ExitCode", 0),
        out_of_memory=bool(state.get("OOMKilled")),
        error=state.get("Error") or "",
        restarts=attrs.get("RestartCount", 0),
        started=moment(state.get("StartedAt")),
        finished=moment(state.get("FinishedAt")),
        labels=kit_labels.read(found),
        networks=frozenset((attrs.get("NetworkSettings") or {}).get("Networks") or {}),
        image_name=config.get("Image") or "",
        command=tuple(config.get("Cmd") or ()),
        made=moment(attrs.get("Created")),
        stop_seconds=10 if config.get("StopTimeout") is None else config["StopTimeout"],
    )


def moment(text: str | None) -> datetime | None:
    """`2026-11-29T21:44:43.254511171Z` -> its time; the Engine writes year 1 for never."""
    return None if not text or text.startswith("0001-") else datetime.fromisoformat(text)


def project_of(listed: Mapping[str, Any]) -> str | None:
    """The project of a container, network or volume in one of the Engine's lists."""
    found: Mapping[str, str] = listed.get("Labels") or {}
    return found.get(labels.PROJECT)


def publications(listed: Mapping[str, Any]) -> tuple[Publication, ...]:
    """An entry of GET /containers/json -> the host ports that it holds."""
    name = (listed.get("Names") or [""])[0].lstrip("/")
    return tuple(
        Publication(name, project_of(listed), port.get("IP") or "0.0.0.0", port["PublicPort"], port.get("Type", "tcp"))
        for port in listed.get("Ports") or ()
        if port.get("PublicPort")
    )
