"""Numbers that vLLM logs while it starts. Pure. The text is no interface: no match leaves None, never 0."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class LogFacts:
    """GiB as logged (two decimals), tokens and seconds. Graph memory is a difference of the whole card: with neighbours
    it is nonsense, also negative."""

    version: str | None = None
    weights_gib: float | None = None
    kv_tokens: int | None = None
    kv_gib: float | None = None
    graphs_gib: float | None = None
    concurrency: float | None = None
    compile_seconds: float | None = None
    start_seconds: float | None = None


def _count(text: str) -> int:
    return int(text.replace(",", ""))


_PATTERNS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "version": (r"(?:version |LLM engine \(v)(\d+\.\d+\.\d+\S*?)[\s)]", str),
    "weights_gib": (r"Model loading took ([\d.]+) GiB", float),
    "kv_tokens": (r"KV cache size: ([\d,]+) tokens", _count),
    "kv_gib": (r"Available KV cache memory: (-?[\d.]+) GiB", float),
    "graphs_gib": (r"Graph capturing finished in \d+ secs, took (-?[\d.]+) GiB", float),
    "concurrency": (r"Maximum concurrency for [\d,]+ tokens per request: ([\d.]+)x", float),
    "compile_seconds": (r"torch\.compile took ([\d.]+) s", float),
    "start_seconds": (r"init engine \(profile, create kv cache, warmup model\) took ([\d.]+) s", float),
}


def read_log(text: str) -> LogFacts:
    """The last value of each number: a log holds every start of its container."""
    found = {name: re.findall(pattern, text) for name, (pattern, _) in _PATTERNS.items()}
    return LogFacts(**{name: _PATTERNS[name][1](values[-1]) for name, values in found.items() if values})
