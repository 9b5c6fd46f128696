"""Parts of a benchmark, made from a few numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from kit.bench.analyze import arm, verdict
from kit.bench.results import Arm, Comparison, Figures, Percentiles, Run
from kit.bench.vllm_results import together as gathered

Better = Literal["higher", "lower"]


def percentiles(p50: float, tail: float = 1.0) -> Percentiles:
    return Percentiles(round(p50, 2), round(p50 * (1.3 + 0.2 * tail), 2), round(p50 * (1.8 + tail), 2))


def figures(tokens: float, ttft: float, tpot: float, goodput: float | None = None) -> Figures:
    requests = tokens / 128
    latency = percentiles(ttft + 127 * tpot, 0.2)
    shown = None if goodput is None else round(goodput, 1)
    return Figures(
        round(tokens, 1), round(requests, 2), 600, 0, shown, percentiles(ttft, 2.4), percentiles(tpot, 0.5), latency
    )


def run(name: str, turn: int, value: float, models: dict[str, Figures] | None = None, seconds: float = 31.4) -> Run:
    key, models = f"{name.replace(' ', '-')}.{turn}", models or {}
    command = f"vllm bench serve --backend openai --model {' '.join(models) or 'chat'} --save-result {key}.json"
    total = gathered(models) if len(models) > 1 else None
    return Run(key, turn, round(value, 3), seconds, models, total, raw=(f"raw/{key}.json",), commands=(command,))


def compared(
    name: str, condition: str, values: str, unit: str = "tok/s", better: Better = "higher", models: str = "chat"
) -> Comparison:
    """`values` are the arms, such as "alone 3 4 5 | beside others 1 2 3"; `models` are those that were asked."""
    rows = [re.fullmatch(r"(.*?) ([\d. ]+)", row.strip()) for row in values.split("|")]
    named = {row[1]: [float(value) for value in row[2].split()] for row in rows if row}
    made = [
        arm(one, [run(f"{name} {one}", n + 1, v, done(v, unit, models.split())) for n, v in enumerate(found)])
        for one, found in named.items()
    ]
    return beside(name, condition, unit, better, made)


def done(value: float, unit: str, models: Sequence[str]) -> dict[str, Figures]:
    tokens = {"tok/s": value, "req/s": value * 128}.get(unit, 9000.0) / len(models)
    return {name: figures(tokens, value if unit == "ms" else 90.0, 48000 / tokens) for name in models}


def beside(name: str, condition: str, unit: str, better: Better, made: Sequence[Arm]) -> Comparison:
    verdicts = tuple(verdict(one, made[0], better) for one in made[1:])
    return Comparison(name, condition, unit, better, tuple(made), verdicts)
