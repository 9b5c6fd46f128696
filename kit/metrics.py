"""A worker's load, from its Prometheus metrics or its open connections. Pure.

What is not understood is left out, and what is not there stays None.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

_LINE = re.compile(r"([A-Za-z_:][\w:]*)(?:\{.*\})?\s+(\S+)(?:\s+-?\d+)?")
_ESTABLISHED = "01"  # a state in /proc/net/tcp


@dataclass(frozen=True)
class Load:
    """What a worker does, `at` seconds of a clock that only goes forward: requests that run and that wait; tokens since
    it started; `kv_used` from 0 to 1. None is what is not known."""

    at: float
    running: int | None = None
    waiting: int | None = None
    kv_used: float | None = None
    read: int | None = None
    written: int | None = None


def series(text: str) -> Mapping[str, list[float]]:
    """Name -> the values of its series, whatever their labels are; what is no number is left out."""
    found: dict[str, list[float]] = defaultdict(list)
    for match in filter(None, (_LINE.fullmatch(line.strip()) for line in text.splitlines())):
        if not math.isnan(value := _number(match[2])):
            found[match[1]].append(value)
    return dict(found)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def load(text: str, at: float) -> Load:
    """The answer of a vLLM's or a Triton's metrics; of Triton only the waiting requests."""
    found = series(text)

    def total(*names: str) -> int | None:
        sums = [sum(found[name]) for name in names if name in found]
        return round(sums[0]) if sums and 0 <= sums[0] < math.inf else None

    return Load(
        at=at,
        running=total("vllm:num_requests_running"),
        waiting=total("vllm:num_requests_waiting", "nv_inference_pending_request_count"),
        kv_used=max(found.get("vllm:kv_cache_usage_perc", ()), default=None),
        read=total("vllm:prompt_tokens_total"),
        written=total("vllm:generation_tokens_total"),
    )


def connections(text: str, port: int) -> int:
    """How many connections to `port` are open, by /proc/net/tcp and tcp6; without those from the same address, such as
    a health check's inside the container."""
    rows = [row for row in map(str.split, text.splitlines()) if len(row) > 3 and row[3] == _ESTABLISHED]
    ends = [(row[1].split(":"), row[2].split(":")) for row in rows]
    return sum(int(local[1], 16) == port and local[0] != remote[0] for local, remote in ends)
