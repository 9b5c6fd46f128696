"""What the server says of an engine that is gone: read last, since the reason mostly stands above it. Pure."""

from __future__ import annotations

from kit.diagnostics.pattern import Pattern

WORDS: tuple[Pattern, ...] = (
    Pattern(
        r"(?:Engine core proc|Worker proc) (?P<name>\S+) died unexpectedly(?: \(exit code: (?P<code>-?\d+)\))?",
        "vLLM's process {name} ended without a word (exit code {code}): it was killed",
        "`dmesg | tail` says whether the host ran out of memory; if nobody killed it, report it to vLLM",
    ),
    Pattern(
        r"engine core exited unexpectedly|EngineDeadError: EngineCore encountered an issue",
        "vLLM's engine process ended while it served, and the server ended with it",
        "the log says why above this; if it says nothing, it was killed: `dmesg | tail`",
    ),
)
