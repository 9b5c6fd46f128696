"""Sends a trial's loads, all at the same time and each from its processes, and reads their results."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, as_completed
from dataclasses import dataclass
from threading import Thread
from typing import TypeVar

from kit.bench.design import Trial
from kit.bench.load import LoadSpec, arguments
from kit.bench.load_containers import Loaders, Sent
from kit.bench.results import Figures
from kit.bench.vllm_results import LoadResult, figures, overlap, parse, saturated
from kit.compose.stats import between

_BAR = re.compile(r"(\d+)/(\d+) \[")
Progress = Callable[[int, int], None]
Show = Callable[[int, str], None]
Made = TypeVar("Made")


@dataclass(frozen=True)
class LoadProcess:
    """One process of a load: its arguments and its result."""

    load: LoadSpec
    command: tuple[str, ...]
    sent: Sent
    answer: LoadResult


@dataclass(frozen=True)
class TrialResult:
    """The parts of a trial's loads, in their order; `seconds` includes everything around them; `cpu` is what each
    service of the stack used of this machine's cores meanwhile, in seconds."""

    parts: tuple[tuple[LoadProcess, ...], ...]
    seconds: float
    cpu: Mapping[str, float]

    @property
    def figures(self) -> dict[str, Figures]:
        """By model."""
        return {parts[0].load.name: figures([part.answer for part in parts]) for parts in self.parts}

    @property
    def overlap(self) -> float | None:
        """For what part of the time all processes were sending; None where that is unknown."""
        return overlap([part.answer for parts in self.parts for part in parts])

    @property
    def sending(self) -> float:
        """How long the longest of the processes sent."""
        return max(part.answer.duration for parts in self.parts for part in parts)

    def is_saturated(self, index: int) -> bool:
        """Whether a process of a load could not keep up."""
        return any(saturated(part.sent.cpu, part.sent.every, part.answer.duration) for part in self.parts[index])


def send(trial: Trial, loaders: Loaders, key: str | None, progress: Progress) -> TrialResult:
    """Run the trial's loads. `key` is the API key of the router. Raises TargetError when one fails."""
    router, counts = loaders.router_url(), dict[int, tuple[int, int]]()
    split = [(index, one) for index, load in enumerate(trial.loads) for one in load.split()]
    for load in trial.loads:
        loaders.prepare(load.service)

    def show(number: int, text: str) -> None:
        """Add up what the progress bars of all processes say."""
        if found := _BAR.findall(text):
            counts[number] = (int(found[-1][0]), int(found[-1][1]))
            progress(sum(done for done, _ in counts.values()), sum(all for _, all in counts.values()))

    before, start = loaders.cpu(), time.monotonic()
    jobs = [(lambda n=n, one=one: _send(one, n, loaders, router, key, show)) for n, (_, one) in enumerate(split)]
    done = at_once(jobs)
    seconds, used = time.monotonic() - start, between(before, loaders.cpu())
    parts = (tuple(p for (i, _), p in zip(split, done, strict=True) if i == n) for n in range(len(trial.loads)))
    return TrialResult(tuple(parts), seconds, used)


def _send(
    one: LoadSpec, number: int, loaders: Loaders, router: str, key: str | None, show: Callable[[int, str], None]
) -> LoadProcess:
    worker, tokenizer, trust = loaders.worker(one.service)
    through = one.target == "router"
    command = arguments(one, router if through else worker, tokenizer, f"{number}.json", trust)
    env = {"OPENAI_API_KEY": key} if key and through else {}
    sent = loaders.send(one.service, command, env, lambda text: show(number, text))
    return LoadProcess(one, command, sent, parse(sent.result))


def at_once(jobs: Sequence[Callable[[], Made]]) -> list[Made]:
    """All jobs, each in a thread that does not outlive the program; raises the first error. An interrupt need not wait
    for them."""
    futures: list[Future[Made]] = [Future() for _ in jobs]

    def work(future: Future[Made], job: Callable[[], Made]) -> None:
        try:
            future.set_result(job())
        except BaseException as error:
            future.set_exception(error)

    for pair in zip(futures, jobs, strict=True):
        Thread(target=work, args=pair, daemon=True).start()
    for done in as_completed(futures):
        done.result()
    return [future.result() for future in futures]
