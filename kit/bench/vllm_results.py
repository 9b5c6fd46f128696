"""The JSON of `vllm bench serve` -> figures. Pure.

Rates are vLLM's own: answered requests or tokens over the duration of a process. Where several processes send one load,
their rates are summed and their latencies are merged, request by request. Processes do not start and end at the same
moment: `overlap` is the part of the time in which all of them were sending.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median_high, quantiles
from typing import Any

from kit.bench.results import Figures, Percentiles
from kit.errors import Problem, TargetError

SATURATED = 0.75  # of a core
LEAST_SECONDS = 1.5
COLUMNS = ("start_times", "ttfts", "itls", "output_lens", "errors")  # of what is known of every request
LISTS = ("input_lens", "output_lens", "ttfts", "itls", "latencies", "start_times", "queue_times", "generated_texts")


@dataclass(frozen=True)
class RequestTiming:
    """An answered request. Seconds on the host's monotonic clock, which all containers share; `itls` are the gaps
    between the chunks of the answer, after the first."""

    start: float
    ttft: float
    itls: tuple[float, ...]
    output: int

    @property
    def end(self) -> float:
        return self.start + self.ttft + sum(self.itls)

    @property
    def tpot(self) -> float | None:
        """Seconds a token after the first, as vLLM counts it; None for an answer of one token."""
        return sum(self.itls) / (self.output - 1) if self.output > 1 else None


@dataclass(frozen=True)
class LoadResult:
    """The JSON of one process: `sums` are its own, `requests` is () where it lists no start times."""

    sums: Mapping[str, Any]
    requests: tuple[RequestTiming, ...]
    failed: int
    error: str = ""

    @property
    def duration(self) -> float:
        """How long it sent, in seconds."""
        return float(self.sums["duration"])


def parse(text: str) -> LoadResult:
    """Read the JSON of one process. Raises TargetError when it is not vLLM's."""
    try:
        data = json.loads(text)
        sums = {key: value for key, value in data.items() if key not in LISTS and key != "errors"}
        completed = int(sums["completed"])
        columns = [data[key] for key in COLUMNS] if {"start_times", "itls"} <= data.keys() else [()]
        requests = tuple(
            RequestTiming(start, ttft, tuple(itls), output)
            for start, ttft, itls, output, error in zip(*columns, strict=True)
            if output and not error
        )
        errors = [str(error) for error in data.get("errors", ()) if error]
        failed = int(sums.get("failed", int(sums.get("num_prompts", completed)) - completed))
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise TargetError(Problem("the result of `vllm bench serve` cannot be read", str(error))) from None
    return LoadResult(sums, requests, failed, errors[0] if errors else "")


def overlap(answers: Sequence[LoadResult]) -> float | None:
    """For what part of the time, from the first start to the last end, all processes had requests in flight; 1 for a
    single one, None where a process lists no start times."""
    if not answers or not all(answer.requests for answer in answers):
        return None
    starts = [min(request.start for request in answer.requests) for answer in answers]
    ends = [max(request.end for request in answer.requests) for answer in answers]
    return max(min(ends) - max(starts), 0.0) / (max(ends) - min(starts))


def figures(answers: Sequence[LoadResult]) -> Figures:
    """The figures of the processes of one load. Raises TargetError when no request was answered."""
    completed = sum(int(answer.sums["completed"]) for answer in answers)
    failed = sum(answer.failed for answer in answers)
    if not completed:
        why = next((answer.error for answer in answers if answer.error), "")
        raise TargetError(Problem("no request of the load was answered", "its first error:"), evidence=why)
    requests = [request for answer in answers for request in answer.requests]
    good = [answer.sums.get("request_goodput") for answer in answers]
    return Figures(
        tokens=_tokens(answers),
        requests=sum(float(answer.sums["request_throughput"]) for answer in answers),
        completed=completed,
        failed=failed,
        goodput=None if None in good else sum(float(one) for one in good if one is not None),
        ttft=percentiles([request.ttft for request in requests]),
        tpot=percentiles([tpot for request in requests if (tpot := request.tpot) is not None]),
        e2el=percentiles([r.end - r.start for r in requests]) or _own_percentiles(answers),
    )


def _tokens(answers: Sequence[LoadResult]) -> float:
    """Output tokens a second; prompt tokens for embeddings."""
    name = "output_throughput" if "output_throughput" in answers[0].sums else "total_token_throughput"
    return sum(float(answer.sums[name]) for answer in answers)


def _own_percentiles(answers: Sequence[LoadResult]) -> Percentiles | None:
    """Of a single process: those of several cannot be merged."""
    sums = answers[0].sums
    if len(answers) > 1 or "p50_e2el_ms" not in sums:
        return None
    return Percentiles(*(float(sums[f"p{p}_e2el_ms"]) for p in (50, 90, 99)))


def percentiles(seconds: Sequence[float]) -> Percentiles | None:
    """In milliseconds, interpolated between the nearest two as numpy does; None of nothing."""
    if not seconds:
        return None
    cuts = quantiles(seconds if len(seconds) > 1 else [*seconds, *seconds], n=100, method="inclusive")
    return Percentiles(*(cuts[p - 1] * 1e3 for p in (50, 90, 99)))


def together(models: Mapping[str, Figures]) -> Figures:
    """The sum of models that were loaded at the same time. Latencies of different models are not mixed."""
    all = list(models.values())
    good = [one.goodput for one in all]
    return Figures(
        tokens=sum(one.tokens for one in all),
        requests=sum(one.requests for one in all),
        completed=sum(one.completed for one in all),
        failed=sum(one.failed for one in all),
        goodput=sum(one for one in good if one is not None) if None not in good else None,
    )


def saturated(cpu: Sequence[float], every: float, duration: float) -> bool:
    """Whether a process used all of its core while it sent its load, for `duration` seconds at the end of `cpu`, which
    was sampled `every` so many. Too short a load shows nothing."""
    sending = cpu[-max(int(duration / every), 1) :]
    return duration >= LEAST_SECONDS and bool(sending) and median_high(sending) >= SATURATED


def slim(text: str) -> tuple[str, str]:
    """vLLM's JSON in two parts: its sums, and its lists of every request."""
    data = json.loads(text)
    lists = {key: data.pop(key) for key in (*LISTS, "errors") if key in data}
    return json.dumps(data, indent=1) + "\n", json.dumps(lists) + "\n"
