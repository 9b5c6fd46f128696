"""What came of asking. Pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from kit.errors import Problem


@dataclass(frozen=True)
class Check:
    """One question: `name` is who was asked (a model's name, /v1/models, ...), `what` must be so, `ok` whether it is,
    `detail` the answer in words, `seconds` how long it took."""

    name: str
    what: str
    ok: bool
    detail: str
    seconds: float


@dataclass(frozen=True)
class Verification:
    """Everything that was asked at `url`; `left_out` says what could not be asked from here, and why."""

    url: str
    checks: tuple[Check, ...]
    left_out: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether every check is."""
        return all(check.ok for check in self.checks)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong, for a VerificationError."""
        return tuple(Problem(f"{check.name}: {check.what}", check.detail) for check in self.checks if not check.ok)

    def as_json(self) -> dict[str, Any]:
        """The report for programs."""
        checks = [{**asdict(check), "seconds": round(check.seconds, 3)} for check in self.checks]
        return {"ok": self.ok, "url": self.url, "checks": checks, "left_out": list(self.left_out)}
