"""JSON as `vllm bench serve --save-result --save-detailed` leaves it, of requests that nobody sent.

Its keys and sums are those of vLLM 0.26 and 0.32 (vllm/benchmarks/serve.py); 0.32 says `latencies` and `queue_times`
too, and of embeddings how many failed is said by neither.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests.support.paths import RECORDED

RUNS = RECORDED / "bench"
HEAD = {"date": "20260101-000000", "endpoint_type": "openai", "backend": "openai", "label": None, "model_id": "chat"}
TAIL = {"max_output_tokens_per_s": 9.0, "max_concurrent_requests": 2, "rtfx": 0.0}


@dataclass(frozen=True)
class Sent:
    """A request: when it was sent, when its answer's parts came, of how many tokens the answer is, what went wrong."""

    start: float
    ttft: float = 0.0
    itls: tuple[float, ...] = ()
    output: int = 0
    error: str = ""

    @property
    def latency(self) -> float:
        return self.ttft + sum(self.itls)


def recorded(task: str) -> str:
    """What vLLM 0.32 left of a load on the CPU demo: both models were loaded at once, eight requests each."""
    return (RUNS / f"vllm-0.32-{task}.json").read_text(encoding="utf-8")


def generated(
    sent: Sequence[Sent], goodput: float | None = None, newer: bool = True, duration: float | None = None
) -> str:
    """Of a load that makes text; `newer` is 0.32. It took from the first request's start to the last one's end."""
    good = [one for one in sent if not one.error]
    duration = duration or _duration(sent)
    output = sum(one.output for one in good)
    data: dict[str, Any] = {
        **HEAD, "num_prompts": len(sent), "request_rate": "inf", "burstiness": 1.0, "max_concurrency": 8,
        "duration": duration, "completed": len(good), "failed": len(sent) - len(good),
        "total_input_tokens": 64 * len(good), "total_output_tokens": output,
        "request_throughput": len(good) / duration, "request_goodput": goodput,
        "output_throughput": output / duration, "total_token_throughput": (64 * len(good) + output) / duration,
        "input_lens": [64] * len(sent), "output_lens": [0 if one.error else one.output for one in sent],
        "ttfts": [one.ttft for one in sent], "itls": [list(one.itls) for one in sent],
        "start_times": [one.start for one in sent], "generated_texts": ["" if one.error else "a b" for one in sent],
        "errors": [one.error for one in sent], **TAIL,
    }  # fmt: skip
    if newer:
        data |= {"latencies": [one.latency for one in sent], "queue_times": [0.0] * len(sent)}
    return json.dumps(data)


def embedded(sent: Sequence[Sent], tokens: int = 64, newer: bool = True) -> str:
    """Of a load that makes vectors: no moments are said, and not how many failed."""
    good = [one for one in sent if not one.error]
    duration = _duration(sent)
    data: dict[str, Any] = {
        **HEAD, "num_prompts": len(sent), "request_rate": "inf", "burstiness": 1.0, "max_concurrency": 8,
        "duration": duration, "completed": len(good), "total_input_tokens": tokens * len(good),
        "request_throughput": len(good) / duration, "total_token_throughput": tokens * len(good) / duration,
        "input_lens": [tokens] * len(sent), "errors": [one.error for one in sent],
        "mean_e2el_ms": 5.0, "p50_e2el_ms": 5.0, "p90_e2el_ms": 7.0, "p99_e2el_ms": 8.0,
    }  # fmt: skip
    return json.dumps(data | ({"latencies": [one.latency for one in sent]} if newer else {}))


def _duration(sent: Sequence[Sent]) -> float:
    return max(one.start + one.latency for one in sent) - min(one.start for one in sent) or 1.0


def steady(begin: float, seconds: float, every: float = 1.0, parts: int = 10, each: int = 1) -> list[Sent]:
    """One client: requests of `every` seconds, one after another; their answers come in parts of `each` tokens."""
    gap = every / parts
    starts = [begin + number * every for number in range(int(seconds / every))]
    return [Sent(start, gap, (gap,) * (parts - 1), parts * each) for start in starts]


SECONDS = st.floats(0.001, 2.0)
ANSWERED = st.builds(
    lambda start, ttft, itls, more: Sent(start, ttft, tuple(itls), 1 + len(itls) + more),
    st.floats(1000, 1010), SECONDS, st.lists(SECONDS, max_size=5), st.integers(0, 8),
)  # fmt: skip
FAILED = st.builds(lambda start: Sent(start, error="Service Unavailable"), st.floats(1000, 1010))
LOADS = st.lists(ANSWERED, min_size=1, max_size=12)
