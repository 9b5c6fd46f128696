"""One finding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Severity = Literal["ok", "warn", "fail", "unknown"]


@dataclass(frozen=True)
class Finding:
    """`subject` was looked at, and `what` is so. `fail` stops the stack, `warn` may, `unknown` could not be seen;
    `fix` is a command or a word of the manifest, "" where nothing is to be done."""

    subject: str
    severity: Severity
    what: str
    fix: str = ""

    def as_json(self) -> dict[str, Any]:
        """The finding for programs."""
        return {"subject": self.subject, "severity": self.severity, "what": self.what, "fix": self.fix}
