"""What a worker's metrics and open connections say of its load. Pure.

What is not understood is left out, and what is not there stays None."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

_LINE = re.compile(r"([A-Za-z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+-?\d+)?")
_ESTABLISHED = "01"  # a state in /proc/net/tcp
_LABEL = re.compile(r'([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True)
class Sample:
    """One value of a series."""

    name: str
    value: float
    labels: Mapping[str, str] = field(default_factory=dict)


def samples(text: str) -> tuple[Sample, ...]:
    """Every sample whose value is a number."""
    lines = filter(None, (_LINE.fullmatch(line.strip()) for line in text.splitlines()))
    found = [Sample(line[1], _number(line[3]), _labels(line[2] or "")) for line in lines]
    return tuple(each for each in found if not math.isnan(each.value))


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _labels(text: str) -> dict[str, str]:
    return {
        name: re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], value) for name, value in _LABEL.findall(text)
    }


def total(found: Iterable[Sample], name: str, **labels: str) -> float | None:
    """The sum of the series `name` that have these labels; None when there is none."""
    values = [each.value for each in found if each.name == name and labels.items() <= each.labels.items()]
    return sum(values) if values else None


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


def load(text: str, at: float) -> Load:
    """The answer of a vLLM's or a Triton's metrics; of Triton only the waiting requests."""
    found = samples(text)

    def whole(*names: str) -> int | None:
        values = [value for name in names if (value := total(found, name)) is not None and 0 <= value < math.inf]
        return round(values[0]) if values else None

    used = [each.value for each in found if each.name == "vllm:kv_cache_usage_perc"]
    return Load(
        at=at,
        running=whole("vllm:num_requests_running"),
        waiting=whole("vllm:num_requests_waiting", "nv_inference_pending_request_count"),
        kv_used=max(used) if used else None,
        read=whole("vllm:prompt_tokens_total"),
        written=whole("vllm:generation_tokens_total"),
    )


def connections(text: str, port: int) -> int:
    """How many connections to `port` are open, by /proc/net/tcp and tcp6; without those from the same address, such as
    a health check's inside the container."""
    rows = (line.split() for line in text.splitlines())
    open_ones = [(row[1], row[2]) for row in rows if len(row) > 3 and row[3] == _ESTABLISHED]
    ends = [(*local.split(":"), remote.split(":")[0]) for local, remote in open_ones]
    return sum(int(local_port, 16) == port and local != remote for local, local_port, remote in ends)
