"""A whole benchmark of invented numbers.

EXAMPLE has every experiment. Nobody measured it: it has the shape that results have, nothing more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kit.bench.analyze import arm
from kit.bench.results import (
    Bench,
    Comparison,
    Experiment,
    MeasuredFootprint,
    Phase,
    Run,
    TestBed,
)
from kit.units import MIB
from tests.support.benchparts import beside, compared, figures, run

ALL = "chat small tiny"
STEPS = (1, 2, 4, 8, 16, 32, 48, 64)
# Of a curve: tokens a second alone, tokens a second at half strength, milliseconds to the first token.
SHAPES = {
    "chat": (310.0, 13900.0, 11.0),
    "small": (520.0, 16400.0, 8.5),
    "tiny": (560.0, 15100.0, 9.0),
    "together": (1250.0, 24800.0, 19.0),
}
SPREAD = (0.985, 1.0, 1.021)  # of three runs around the middle one

MANIFEST = """\
# An example: invented numbers of a benchmark that nobody ran.
name: trio
gpu: {memory: 16GiB}
models:
  - name: chat
    source: Qwen/Qwen2.5-1.5B-Instruct
    context: 8k
    weight: 2
  - name: small
    source: Qwen/Qwen2.5-0.5B-Instruct
    context: 8k
  - name: tiny
    source: HuggingFaceTB/SmolLM2-360M-Instruct
    context: 4k
"""


# ---- the experiments


def curve(name: str) -> Comparison:
    alone, most, ttft = SHAPES[name]
    models = ALL.split() if name == "together" else [name]
    points = []
    for step in STEPS:
        tokens = alone * step / (1 + alone * step / most)
        part = tokens / len(models)
        good = figures(part, ttft * (1 + step / 22), 1000 * step / part, part / 128 * max(0.0, 1 - (step / 90) ** 2))
        runs = [run(f"{name}-{step}", n + 1, tokens * k, dict.fromkeys(models, good)) for n, k in enumerate(SPREAD)]
        points.append(arm(str(step), runs, float(step)))
    said = "every model loaded at once" if name == "together" else f"{name} alone"
    return Comparison(name, said, "tok/s", "higher", tuple(points), kind="curve", axis="requests at once")


def in_time(curve: Comparison) -> Comparison:
    """The goodput of the same runs."""
    points = []
    for one in curve.arms:
        good = [sum(figures.goodput or 0 for figures in found.models.values()) for found in one.runs]
        points.append(arm(one.name, [replace(r, value=v) for r, v in zip(one.runs, good, strict=True)], one.x))
    return replace(curve, unit="req/s within the SLO", arms=tuple(points))


def sweep() -> Experiment:
    curves = tuple(curve(name) for name in SHAPES)
    return Experiment(
        "sweep",
        "How much does each model serve, and how fast, as the load grows?",
        "the load: requests at once",
        ("128 tokens in, 128 out, random prompts", "the stack as given", "the SLO: ttft 500 ms, tpot 50 ms"),
        (*curves, *(in_time(one) for one in curves)),
    )


def memory_share() -> Experiment:
    values = "all of the card 12838 12701 12899 | 30% of the card 12766 12640 12871"
    return Experiment(
        "memory-share",
        "Does the memory split matter?",
        "how much of the card one model gets",
        ("chat alone on the card", "concurrency 48, 128 tokens in, 128 out"),
        (compared("chat", "concurrency 48", values),),
    )


def prefix() -> Experiment:
    made = (
        compared("prefill-heavy", "2,048 in, 64 out", "random 1153 1149 1161 | shared 2316 2301 2340"),
        compared("prefill-heavy, waiting", "p99 TTFT", "random 1912 1890 1977 | shared 688 671 702", "ms", "lower"),
        compared("decode-heavy", "128 in, 512 out", "random 9120 9004 9205 | shared 9188 9061 9240"),
    )
    return Experiment(
        "prefix",
        "What does a shared prefix buy?",
        "whether the prompts begin alike",
        ("chat alone", "concurrency 48", "the prefix cache is on in both"),
        made,
        ("The engine's log: 91.2% of the shared prompts' tokens came from the cache.",),
    )


def policy() -> Experiment:
    small = "round_robin 60.6 60.1 61.0 | cache_aware 62.4 61.8 62.9 | random 60.2 59.7 61.3"
    medium = "round_robin 53.4 52.9 54.0 | cache_aware 55.2 54.7 55.9 | random 52.1 51.3 52.8"
    large = "round_robin 46.3 45.8 46.9 | cache_aware 38.5 37.9 39.4 | random 45.9 45.0 46.6"
    made = (
        compared("small", "working set: a quarter of one cache", small, "req/s"),
        compared("medium", "working set: one cache and a half", medium, "req/s"),
        compared("large", "working set: four caches", large, "req/s"),
    )
    held = ("two replicas of chat", "concurrency 96", "cold prefix caches before each run")
    return Experiment("policy", "Which router policy suits two replicas?", "the router's policy", held, made)


def contention() -> Experiment:
    made = (
        compared("chat", "48 at once", "alone 12838 12701 12899 | together 8364 8120 8502"),
        compared("small", "48 at once", "alone 14902 14700 15011 | together 8297 8101 8377", models="small"),
        compared("tiny", "48 at once", "alone 13871 13790 14020 | together 8310 8188 8455", models="tiny"),
    )
    words = "All three together: 24,971 tok/s. The slowest kept 0.56 of what it does alone, the fastest 0.65."
    return Experiment(
        "contention",
        "What does each model lose beside the others?",
        "whether the other models are loaded and asked",
        ("48 requests at the same time for each", "the same memory for each in both"),
        made,
        (words,),
    )


def mps() -> Experiment:
    made = compared(
        "all models", "48 at once, each", "without 22356 21831 22102 | with MPS 26052 28509 27110", models=ALL
    )
    held = ("all models loaded", "the same requests")
    return Experiment("mps", "Does NVIDIA MPS help when all are asked at once?", "gpu.mps", held, (made,))


def timeline(name: str, seconds: Sequence[float], parallel: bool, turn: int, part: float) -> Run:
    """A start of three workers and the router behind them."""
    phases: list[Phase] = []
    at = 0.4
    for service, took in zip(("chat", "small", "tiny"), seconds, strict=True):
        phases.append(Phase(service, round(at, 1), round(at + took * part, 1)))
        at = at if parallel else at + took * part
    ready = max(phase.end for phase in phases)
    phases.append(Phase("router", ready, round(ready + 3.1, 1)))
    return replace(run(name, turn, ready + 3.6, {}, ready + 9), phases=tuple(phases))


def startup() -> Experiment:
    shapes = {
        "cold caches": {"sequential": (87.2, 74.2, 81.7), "parallel": (131.0, 118.4, 126.9)},
        "warm caches": {"sequential": (39.6, 40.6, 42.1), "parallel": (51.2, 47.9, 49.4)},
    }
    made = []
    for condition, rows in shapes.items():
        found = [
            arm(
                way,
                [timeline(f"{condition} {way}", took, way == "parallel", n + 1, part) for n, part in enumerate(SPREAD)],
            )
            for way, took in rows.items()
        ]
        made.append(beside(condition, "until the first verified token", "s", "lower", found))
    held = ("the same plan", "the weights are in the page cache")
    return Experiment("startup", "How long until every name answers?", "start: and the caches", held, tuple(made))


def router() -> Experiment:
    waiting = "direct 11.2 11.0 11.5 | router 13.1 12.8"
    made = (
        compared("throughput", "concurrency 48", "direct 12838 12701 12899 | router 12712 12644 12790"),
        compared("waiting", "one request at a time, p50 TTFT", waiting, "ms", "lower"),
    )
    remark = "waiting, through the router: the third run failed, 41 of 600 requests were refused (503)."
    return Experiment("router", "What does the router cost?", "the way", ("chat alone",), made, (remark,))


def footprint(service: str, held: int | None, **lines: float) -> MeasuredFootprint:
    """Lines in MiB."""
    named = tuple((what.replace("_", " "), int(mib * MIB)) for what, mib in lines.items())
    return MeasuredFootprint(service, named, None if held is None else held * MIB)


BASE = {"runtime": 260.0, "context": 230.0}  # of every worker, in MiB
MEMORY = (
    footprint("chat", 6244, weights=2944, kv_cache=1792, sampler=148, logits=74, activations=392, graphs=430, **BASE),
    footprint("small", 4020, weights=942, kv_cache=1536, sampler=148, logits=74, activations=318, graphs=322, **BASE),
    footprint("tiny", None, weights=690, kv_cache=1024, sampler=48, logits=24, activations=206, graphs=388, **BASE),
)

SETUP = TestBed(
    manifest=MANIFEST,
    profile="full",
    card={
        "name": "NVIDIA GeForce RTX 5080",
        "uuid": "GPU-0c5a3a1e-58d2-4f0b-9d6c-16e2b7c4a905",
        "total_bytes": 16610492416,
        "free_bytes": 16176381952,
        "compute_capability": "12.0",
        "driver": "580.95",
        "processes": [],
    },
    images={
        "vllm/vllm-openai:v0.26.0": "sha256:5f0ce0e1f1b6a1f8f3b0c5a7f0b7a5f6a9c84f83b52d3f7c2a4f5f8f0c7d9e11",
        "lightseekorg/smg:1.13.0": "sha256:a41d3f7c2a4f5f8f0c7d9e115f0ce0e1f1b6a1f8f3b0c5a7f0b7a5f6a9c84f83",
    },
    host={"cpu": "AMD Ryzen 9 9950X", "cores": "32", "memory": "61.9 GiB", "kernel": "6.12.48"},
    versions={"monogpu-kit": "0.1.0", "vllm": "0.26.0", "Docker": "28.5.1", "Compose": "2.40.0"},
    stacks=("stacks/trio.yaml", "stacks/chat-alone.yaml", "stacks/two-replicas.yaml"),
    notes=("An example: invented numbers of a benchmark that nobody ran.", "Random weights of the real architectures."),
)
EXAMPLE = Bench(
    SETUP,
    (sweep(), memory_share(), prefix(), policy(), contention(), mps(), startup(), router()),
    MEMORY,
    "2026-11-29T22:10:04+00:00",
    2520.0,
    2711.3,
)
