"""Prometheus' text form -> samples. Pure. What is not understood is left out, and what is not there stays None."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

_LINE = re.compile(r"([A-Za-z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+-?\d+)?")
_LABEL = re.compile(r'([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)"')
_ESCAPED = {"n": "\n"}


@dataclass(frozen=True)
class Sample:
    """One value of a series."""

    name: str
    value: float
    labels: Mapping[str, str] = field(default_factory=dict)


def samples(text: str) -> tuple[Sample, ...]:
    """Every sample whose value is a number."""
    found = (_sample(line.strip()) for line in text.splitlines())
    return tuple(each for each in found if each is not None)


def _sample(line: str) -> Sample | None:
    match = _LINE.fullmatch(line)
    if match is None:
        return None
    name, labels, value = match.groups()
    try:
        number = float(value)
    except ValueError:
        return None
    return None if math.isnan(number) else Sample(name, number, _labels(labels or ""))


def _labels(text: str) -> dict[str, str]:
    return {name: re.sub(r"\\(.)", _unescaped, value) for name, value in _LABEL.findall(text)}


def _unescaped(match: re.Match[str]) -> str:
    return _ESCAPED.get(match.group(1), match.group(1))


def total(found: Iterable[Sample], name: str, **labels: str) -> float | None:
    """The sum of the series `name` that have these labels; None when there is none."""
    values = [each.value for each in found if each.name == name and labels.items() <= each.labels.items()]
    return sum(values) if values else None


@dataclass(frozen=True)
class Load:
    """What a vLLM worker says at /metrics, `at` seconds of a clock that only goes forward. Requests; tokens since it
    started; `kv_used` from 0 to 1. None is what it did not say."""

    at: float
    running: int | None = None
    waiting: int | None = None
    kv_used: float | None = None
    read: int | None = None
    written: int | None = None


def load(text: str, at: float) -> Load:
    """The answer of /metrics."""
    found = samples(text)

    def whole(name: str) -> int | None:
        value = total(found, name)
        return None if value is None or value < 0 or value == float("inf") else round(value)

    used = [each.value for each in found if each.name == "vllm:kv_cache_usage_perc"]
    return Load(
        at=at,
        running=whole("vllm:num_requests_running"),
        waiting=whole("vllm:num_requests_waiting"),
        kv_used=max(used) if used else None,
        read=whole("vllm:prompt_tokens_total"),
        written=whole("vllm:generation_tokens_total"),
    )
