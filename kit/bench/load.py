"""Loads as values, and the arguments of `vllm bench serve` that send them.

Prompts are random words, sent as text, since SMG refuses token ids. Every run has a seed of its own: its prompts are
in no cache, however often the same experiment runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

ENDPOINTS = {"generate": ("openai", "/v1/completions"), "embed": ("openai-embeddings", "/v1/embeddings")}
RESULTS = "/tmp/results"
PERCENTILES = (50, 90, 99)


@dataclass(frozen=True)
class Prompts:
    """`input` tokens, of which the first `prefix` are one of `prefixes` shared ones; `output` tokens are generated."""

    input: int
    output: int
    prefix: int = 0
    prefixes: int = 0

    def __str__(self) -> str:
        shared = (
            f", the first {self.prefix} of them one of {self.prefixes} shared prefixes" if self.prefix else ", random"
        )
        answer = f", {self.output} tokens out" if self.output else ""
        return f"{self.input} tokens in{shared}{answer}"


@dataclass(frozen=True)
class LoadSpec:
    """Requests for one model. `service` is the worker whose tokenizer is used; with `target` "worker" it gets the
    requests directly. `count` requests in all, at most `concurrency` at once, or `rate` a second, sent by `processes`.
    """

    name: str
    service: str
    task: Literal["generate", "embed"]
    prompts: Prompts
    concurrency: int
    count: int
    target: Literal["router", "worker"] = "router"
    rate: float | None = None
    processes: int = 1
    seed: int = 0
    goodput: tuple[str, ...] = ()

    def split(self) -> tuple[LoadSpec, ...]:
        """One load for each process, of equal size. Prefixes are shared within a process: each has at least one."""
        n, shared = min(self.processes, self.concurrency), self.prompts.prefixes
        return tuple(
            replace(
                self,
                processes=1,
                concurrency=_part(self.concurrency, n, i),
                count=_part(self.count, n, i),
                rate=self.rate / n if self.rate else None,
                prompts=replace(self.prompts, prefixes=max(_part(shared, n, i), min(shared, 1))),
                seed=self.seed * 64 + i,
            )
            for i in range(n)
        )


def _part(whole: int, parts: int, index: int) -> int:
    """The index-th of `parts` nearly equal parts; their sum is the whole."""
    return whole // parts + (index < whole % parts)


def arguments(load: LoadSpec, url: str, tokenizer: str, result: str, trust: bool = False) -> tuple[str, ...]:
    """The arguments of `vllm` for a load of one process. `result` is the name of its JSON in RESULTS."""
    backend, endpoint = ENDPOINTS[load.task]
    return (
        "bench", "serve",
        "--backend", backend,
        "--base-url", url,
        "--endpoint", endpoint,
        "--model", load.name,
        "--tokenizer", tokenizer,
        *(("--trust-remote-code",) if trust else ()),
        *_dataset(load),
        "--num-prompts", str(load.count),
        "--max-concurrency", str(load.concurrency),
        *(("--request-rate", f"{load.rate:g}") if load.rate else ()),
        "--seed", str(load.seed),
        *_answers(load),
        "--metric-percentiles", ",".join(map(str, PERCENTILES)),
        *(("--goodput", *load.goodput) if load.goodput else ()),
        "--save-result", "--save-detailed",
        "--result-dir", RESULTS,
        "--result-filename", result,
    )  # fmt: skip


def _dataset(load: LoadSpec) -> Sequence[str]:
    prompts = load.prompts
    if not prompts.prefix:
        words = ("--dataset-name", "random", "--random-input-len", str(prompts.input))
        return (*words, "--random-output-len", str(max(prompts.output, 1)))
    return (
        "--dataset-name", "prefix_repetition",
        "--prefix-repetition-prefix-len", str(prompts.prefix),
        "--prefix-repetition-suffix-len", str(prompts.input - prompts.prefix),
        "--prefix-repetition-num-prefixes", str(min(prompts.prefixes, load.count)),
        "--prefix-repetition-output-len", str(prompts.output),
    )  # fmt: skip


def _answers(load: LoadSpec) -> Sequence[str]:
    """Answers have the requested length; an embedding has none."""
    if load.task == "embed":
        return ("--percentile-metrics", "e2el")
    return ("--ignore-eos", "--temperature", "0", "--percentile-metrics", "ttft,tpot,itl,e2el")


def tokenizer_of(command: Sequence[str], environ: Mapping[str, str]) -> tuple[str, bool]:
    """(where a worker's tokenizer is, whether it brings code along), from what the worker was started with. At a
    revision it is the folder of that snapshot: offline, a name alone means the newest."""
    trust = "--trust-remote-code" in command
    pairs = zip(command, (*command[1:], ""), strict=True)
    options = {word.partition("=")[0]: word.partition("=")[2] if "=" in word else after for word, after in pairs}
    given, model, revision = options.get("--tokenizer"), command[0], options.get("--revision")
    if given or not revision or model.startswith("/"):
        return given or model, trust
    folder = f"{environ.get('HF_HOME', '/root/.cache/huggingface')}/hub/models--{model.replace('/', '--')}"
    return f"{folder}/snapshots/{revision}", trust
