"""Messages of an API server whose engine died: matched last, since the cause mostly stands above them. Pure."""

from __future__ import annotations

from kit.diagnostics.pattern import Pattern

PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        r"(?:Engine core proc|Worker proc) (?P<name>\S+) died unexpectedly(?: \(exit code: (?P<code>-?\d+)\))?",
        "vLLM's process {name} ended without a message (exit code {code}): it was killed",
        "`dmesg | tail` says whether the host ran out of memory; if it did not, report it to vLLM",
    ),
    Pattern(
        r"engine core exited unexpectedly|EngineDeadError: EngineCore encountered an issue",
        "vLLM's engine process ended while it served, and the server ended with it",
        "the log says why above this; if it says nothing, it was killed: `dmesg | tail`",
    ),
)
