"""The status of a project as values, and the rates that follow from two of them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from kit.compose.observed import ContainerSummary
from kit.diagnostics.pattern import Explanation
from kit.metrics import Load

OVER = 1.03  # of the bill, from where it is reported
LOOP = 3  # restarts from which a service that is not well counts as failing


@dataclass(frozen=True)
class ServiceReport(ContainerSummary):
    """A container's state and load. `held` is what the driver (or, on the CPU, the kernel) counts now, in bytes;
    `tokens` a second: written ones for a model that writes, else read ones; `cause` why it failed, now or before Docker
    restarted it, as far as its log says so; `last` is the log's last line then."""

    held: int | None = None
    load: Load | None = None
    tokens: float | None = None
    cause: Explanation | None = None
    last: str = ""

    @property
    def word(self) -> str:
        """Its state in one word: health where there is a check, else Docker's; an exit code behind it."""
        if self.status != "running":
            return self.status if self.ended is None else f"{self.status} {self.ended}"
        return self.health or self.status

    @property
    def well(self) -> bool:
        """Whether it runs and is healthy; a download, whether it ended with 0."""
        if self.role == "download" and self.status == "exited":
            return self.exit_code == 0
        return self.status == "running" and self.health in (None, "healthy")

    @property
    def loops(self) -> bool:
        """Whether it restarts again and again."""
        return self.restarts >= LOOP and not self.well

    @property
    def failing(self) -> bool:
        """Whether it needs attention: one that only starts does not."""
        starts = self.status == "running" and self.health == "starting"
        return self.loops or not (self.well or starts)

    @property
    def over(self) -> int:
        """Bytes that it holds above its bill; 0 within 3% of it, and where either is unknown."""
        if not self.planned or not self.held or self.held <= self.planned * OVER:
            return 0
        return self.held - self.planned


@dataclass(frozen=True)
class Status:
    """A project at one moment. `memory` names what the workers share (a card's name, or host memory), with its `total`
    and `free` bytes; `routed` maps names to what the router says of them, None when it does not answer;
    `not_as_billed` are the keys of planned workers that another compose file changes."""

    project: str
    now: datetime
    services: tuple[ServiceReport, ...]
    url: str | None = None
    routed: Mapping[str, str] | None = None
    memory: str = ""
    total: int | None = None
    free: int | None = None
    not_as_billed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """What clients may put in "model", as the workers' labels say."""
        return tuple(dict.fromkeys(name for service in self.services for name in service.names))

    @property
    def failing(self) -> bool:
        """Whether any service is failing."""
        return any(service.failing for service in self.services)


def rate(before: Load | None, now: Load | None, task: str) -> float | None:
    """Tokens a second between two loads; None without two of them, or when the worker restarted in between."""
    if before is None or now is None or now.at <= before.at:
        return None
    first, then = (before.written, now.written) if task == "generate" else (before.read, now.read)
    if first is None or then is None or then < first:
        return None
    return (then - first) / (now.at - before.at)


def as_json(status: Status) -> dict[str, Any]:
    """The status for programs."""
    return {
        "project": status.project,
        "at": status.now.isoformat(),
        "endpoint": status.url,
        "routed": dict(status.routed) if status.routed is not None else None,
        "memory": {"of": status.memory, "total_bytes": status.total, "free_bytes": status.free},
        "services": [_service(each) for each in status.services],
        "not_as_billed": {name: list(keys) for name, keys in status.not_as_billed.items()},
    }


def _service(one: ServiceReport) -> dict[str, Any]:
    load = one.load or Load(0)
    return {
        "service": one.service,
        "role": one.role,
        "names": list(one.names),
        "state": one.status,
        "health": one.health,
        "well": one.well,
        "failing": one.failing,
        "restarts": one.restarts,
        "started": one.started.isoformat() if one.started else None,
        "made": one.made.isoformat() if one.made else None,
        "exit_code": one.ended,
        "image": one.image_name,
        "planned_bytes": one.planned,
        "held_bytes": one.held,
        "running": load.running,
        "waiting": load.waiting,
        "kv_used": load.kv_used,
        "tokens_per_second": None if one.tokens is None else round(one.tokens, 2),
        "cause": one.cause.cause if one.cause else None,
        "fix": one.cause.fix if one.cause else None,
    }


def by_name(services: Iterable[ServiceReport]) -> dict[str, Load]:
    """Service -> its load, for the next status to be compared with."""
    return {each.service: each.load for each in services if each.load is not None}


def with_cause(one: ServiceReport, cause: Explanation | None, log: str) -> ServiceReport:
    """The same service with why it failed, and the last line of its log."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    return replace(one, cause=cause, last=lines[-1] if lines else "")
