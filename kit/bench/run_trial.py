"""Sends a trial's loads, all at the same time and each from its processes, and reads their results."""

from __future__ import annotations

import queue
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from kit.bench.design import Trial
from kit.bench.load import LoadSpec, arguments
from kit.bench.load_containers import Loaders, Sent
from kit.bench.results import Figures
from kit.bench.vllm_results import LoadResult, figures, overlap, parse, saturated
from kit.compose.stats import between

_BAR = re.compile(r"(\d+)/(\d+) \[")
Progress = Callable[[int, int], None]
Made = TypeVar("Made")


@dataclass(frozen=True)
class Part:
    """One process of a load: its arguments and its result."""

    load: LoadSpec
    command: tuple[str, ...]
    sent: Sent
    answer: LoadResult


@dataclass(frozen=True)
class TrialResult:
    """The parts of a trial's loads, in their order; `seconds` includes everything around them; `cpu` is what each
    service of the stack used of this machine's cores meanwhile, in seconds."""

    parts: tuple[tuple[Part, ...], ...]
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
    router, shown = loaders.router_url(), _Progress(progress)
    split = [(index, one) for index, load in enumerate(trial.loads) for one in load.split()]
    for load in trial.loads:
        loaders.prepare(load.service)
    before, start = loaders.cpu(), time.monotonic()
    jobs = [(lambda n=n, one=one: _send(one, n, loaders, router, key, shown)) for n, (_, one) in enumerate(split)]
    done = at_once(jobs)
    seconds, used = time.monotonic() - start, between(before, loaders.cpu())
    parts = (tuple(p for (i, _), p in zip(split, done, strict=True) if i == n) for n in range(len(trial.loads)))
    return TrialResult(tuple(parts), seconds, used)


def _send(one: LoadSpec, number: int, loaders: Loaders, router: str, key: str | None, shown: _Progress) -> Part:
    worker, tokenizer, trust = loaders.worker(one.service)
    through = one.target == "router"
    command = arguments(one, router if through else worker, tokenizer, f"{number}.json", trust)
    env = {"OPENAI_API_KEY": key} if key and through else {}
    sent = loaders.send(one.service, command, env, lambda text: shown.update(number, text))
    return Part(one, command, sent, parse(sent.result))


class _Progress:
    """How many requests of all processes are answered, from their progress bars."""

    def __init__(self, progress: Progress) -> None:
        self.progress, self.counts = progress, dict[int, tuple[int, int]]()

    def update(self, number: int, text: str) -> None:
        if found := _BAR.findall(text):
            self.counts[number] = (int(found[-1][0]), int(found[-1][1]))
            self.progress(sum(done for done, _ in self.counts.values()), sum(all for _, all in self.counts.values()))


def at_once(jobs: Sequence[Callable[[], Made]]) -> list[Made]:
    """All jobs, each in a thread that does not outlive the program; raises the first error. An interrupt need not wait
    for them."""
    done: queue.Queue[tuple[int, Made | None, BaseException | None]] = queue.Queue()

    def work(index: int, job: Callable[[], Made]) -> None:
        try:
            done.put((index, job(), None))
        except BaseException as error:
            done.put((index, None, error))

    for index, job in enumerate(jobs):
        threading.Thread(target=work, args=(index, job), daemon=True).start()
    found: dict[int, Made] = {}
    while len(found) < len(jobs):
        try:
            index, made, error = done.get(timeout=0.2)
        except queue.Empty:
            continue
        if error is not None:
            raise error
        found[index] = made  # type: ignore[assignment]
    return [found[index] for index in range(len(jobs))]
