"""What runs, and how it is: one look at a project as values, and what follows from two looks. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from kit.diagnostics.pattern import Explanation
from kit.metrics import Load

OVER = 1.03  # of the bill, from where it is said
LOOP = 3  # restarts after which one that is still not well is not waited for any more


@dataclass(frozen=True)
class ServiceReport:
    """One container. `planned` is the bill's total and `held` what the driver (or, on the CPU, the kernel) counts now,
    in bytes; `tokens` a second: written ones for a model that writes, else read ones; `cause` why it failed, now or
    before Docker restarted it, as far as its log says so; `last` is the log's last line then; `made` is when its
    container was made, since when Docker counts restarts."""

    name: str
    role: str
    task: str
    names: tuple[str, ...]
    state: str
    health: str | None
    started: datetime | None
    restarts: int
    exit_code: int | None
    image: str
    planned: int | None = None
    held: int | None = None
    load: Load | None = None
    tokens: float | None = None
    cause: Explanation | None = None
    last: str = ""
    made: datetime | None = None

    @property
    def word(self) -> str:
        """Its state in one word: health where there is a check, else Docker's; an exit code behind it."""
        if self.state != "running":
            return self.state if self.exit_code is None else f"{self.state} {self.exit_code}"
        return self.health or self.state

    @property
    def well(self) -> bool:
        """Whether it does what it is there for. A download that ended with 0 does."""
        if self.role == "fetch" and self.state == "exited":
            return self.exit_code == 0
        return self.state == "running" and self.health in (None, "healthy")

    @property
    def loops(self) -> bool:
        """Whether it is started again and again, and does not get well."""
        return self.restarts >= LOOP and not self.well

    @property
    def failing(self) -> bool:
        """Whether somebody must look at it: what only starts is waited for."""
        starts = self.state == "running" and self.health == "starting"
        return self.loops or not (self.well or starts)

    @property
    def over(self) -> int:
        """Bytes that it holds above its bill; 0 within 3% of it, and where either is unknown."""
        if not self.planned or not self.held or self.held <= self.planned * OVER:
            return 0
        return self.held - self.planned


@dataclass(frozen=True)
class Status:
    """One look. `memory` is what the workers share, in words (a card's name, or host memory), with its `total` and
    `free` bytes; `routed` maps names to what the router says of them, None when it cannot be asked."""

    project: str
    now: datetime
    services: tuple[ServiceReport, ...]
    url: str | None = None
    routed: Mapping[str, str] | None = None
    memory: str = ""
    total: int | None = None
    free: int | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """What clients may put in "model", as the workers' labels say."""
        return tuple(dict.fromkeys(name for service in self.services for name in service.names))

    @property
    def failing(self) -> bool:
        """Whether some service is."""
        return any(service.failing for service in self.services)


def rate(before: Load | None, now: Load | None, task: str) -> float | None:
    """Tokens a second between two looks; None without two of them, or when the worker was started anew between."""
    if before is None or now is None or now.at <= before.at:
        return None
    first, then = (before.written, now.written) if task == "generate" else (before.read, now.read)
    if first is None or then is None or then < first:
        return None
    return (then - first) / (now.at - before.at)


def routed(text: str) -> dict[str, str] | None:
    """SMG's answer to GET /workers -> what it says of each name: the best of a name's replicas. None when it is not
    that."""
    try:
        listed = json.loads(text)["workers"]
        pairs = [(str(each["model_id"]), str(each["status"])) for each in listed]
    except (ValueError, KeyError, TypeError):
        return None
    found: dict[str, str] = {}
    for name, state in pairs:
        if found.get(name) != "ready":
            found[name] = state
    return found


def as_json(status: Status) -> dict[str, Any]:
    """The look for programs."""
    return {
        "project": status.project,
        "at": status.now.isoformat(),
        "endpoint": status.url,
        "routed": dict(status.routed) if status.routed is not None else None,
        "memory": {"of": status.memory, "total_bytes": status.total, "free_bytes": status.free},
        "services": [_service(each) for each in status.services],
    }


def _service(one: ServiceReport) -> dict[str, Any]:
    load = one.load or Load(0)
    return {
        "service": one.name,
        "role": one.role,
        "names": list(one.names),
        "state": one.state,
        "health": one.health,
        "well": one.well,
        "failing": one.failing,
        "restarts": one.restarts,
        "started": one.started.isoformat() if one.started else None,
        "made": one.made.isoformat() if one.made else None,
        "exit_code": one.exit_code,
        "image": one.image,
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
    """The loads of one look, for the next one to be compared with."""
    return {each.name: each.load for each in services if each.load is not None}


def with_cause(one: ServiceReport, cause: Explanation | None, log: str) -> ServiceReport:
    """The same service with why it failed, and its log's last words where that is not known."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    return replace(one, cause=cause, last=lines[-1] if lines else "")
