"""Sends a trial's loads, all at once and each from its processes, and reads what they left."""

from __future__ import annotations

import queue
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from kit.bench.design import Trial
from kit.bench.load import (
    LoadSpec,
    arguments,
)
from kit.bench.load_containers import Loaders, Sent
from kit.bench.results import Figures
from kit.bench.vllm_results import (
    LoadResult,
    figures,
    overlap,
    parse,
    saturated,
)
from kit.compose.stats import between

_BAR = re.compile(r"(\d+)/(\d+) \[")
Progress = Callable[[int, int], None]
Made = TypeVar("Made")


@dataclass(frozen=True)
class Part:
    """One process of a load: what it was told, what it left."""

    load: LoadSpec
    command: tuple[str, ...]
    sent: Sent
    answer: LoadResult


@dataclass(frozen=True)
class Outcome:
    """What a trial's loads left, in their order; `seconds` with everything around them; `cpu` is what each service of
    the stack used of this machine's cores meanwhile, in seconds."""

    parts: tuple[tuple[Part, ...], ...]
    seconds: float
    cpu: Mapping[str, float]

    @property
    def figures(self) -> dict[str, Figures]:
        """Of each name."""
        return {parts[0].load.name: figures([part.answer for part in parts]) for parts in self.parts}

    @property
    def overlap(self) -> float | None:
        """For what part of the time all processes were at it; None where that is unknown."""
        return overlap([part.answer for parts in self.parts for part in parts])

    @property
    def sending(self) -> float:
        """How long the longest of the processes sent."""
        return max(float(part.answer.said["duration"]) for parts in self.parts for part in parts)

    def is_saturated(self, index: int) -> bool:
        """Whether a process of a load could not keep up."""
        return any(saturated(p.sent.cpu, p.sent.every, float(p.answer.said["duration"])) for p in self.parts[index])


def send(trial: Trial, loaders: Loaders, key: str | None, progress: Progress) -> Outcome:
    """Runs the trial's loads. `key` is what clients must send at the router. Raises TargetError when one fails."""
    door, counted = loaders.door(), _Counted(progress)
    flat = [(i, one) for i, load in enumerate(trial.loads) for one in load.split()]
    for load in trial.loads:
        loaders.prepare(load.service)
    before, began = loaders.cpu(), time.monotonic()
    jobs = [(lambda n=n, one=one: _send(one, n, loaders, door, key, counted)) for n, (_, one) in enumerate(flat)]
    done = at_once(jobs)
    seconds, used = time.monotonic() - began, between(before, loaders.cpu())
    parts = tuple(
        tuple(part for (i, _), part in zip(flat, done, strict=True) if i == index) for index in range(len(trial.loads))
    )
    return Outcome(parts, seconds, used)


def _send(one: LoadSpec, number: int, loaders: Loaders, door: str, key: str | None, counted: _Counted) -> Part:
    url = door if one.door == "router" else f"http://{one.service}:8000"
    tokenizer, trust = loaders.tokenizer(one.service)
    command = arguments(one, url, tokenizer, f"{number}.json", trust)
    env: Mapping[str, str] = {"OPENAI_API_KEY": key} if key and one.door == "router" else {}
    sent = loaders.send(one.service, command, env, lambda words: counted.said(number, words))
    return Part(one, command, sent, parse(sent.result))


class _Counted:
    """How many requests of all processes are answered, from their progress bars."""

    def __init__(self, progress: Progress) -> None:
        self.progress, self.counts = progress, dict[int, tuple[int, int]]()

    def said(self, number: int, words: str) -> None:
        found = _BAR.findall(words)
        if found:
            self.counts[number] = (int(found[-1][0]), int(found[-1][1]))
            self.progress(sum(done for done, _ in self.counts.values()), sum(all for _, all in self.counts.values()))


def at_once(jobs: Sequence[Callable[[], Made]]) -> list[Made]:
    """All of them, each in a thread that does not outlive us; raises the first error. An interrupt is not kept
    waiting."""
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
