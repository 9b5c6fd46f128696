"""What `bench` says while it works, and what it found, in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kit.bench.design import AS_GIVEN, Protocol, Step, Trial, schedule
from kit.bench.estimate import words
from kit.bench.journal import (
    Record,
    RunDone,
    runs,
)
from kit.bench.results import Comparison, Experiment, Figures
from kit.bench.sizing import Size

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status


class Bar:
    """On a terminal a line that lives: what runs, how far it is, how fast, what is left. Elsewhere a line a run."""

    def __init__(self, console: Console, total: int) -> None:
        self.console, self.total, self.count, self.left = console, total, 0, ""
        self.live: Status | None = None

    def running(self, what: str) -> Callable[[int, int], None]:
        """Shows a run; call what is returned with how many of its requests are answered."""
        self._show(what)
        return lambda done, of: self._show(f"{what}  {done} of {of} requests")

    def passed(self) -> None:
        """A run was done before."""
        self.count += 1

    def done(self, line: str, seconds_left: float) -> None:
        """A run is done."""
        self.count += 1
        self.left = f"{words(seconds_left)} left"
        self.close()
        self.console.print(f"[{self.count}/{self.total}] {line}  ({self.left})", markup=False, soft_wrap=True)

    def close(self) -> None:
        """The living line ends."""
        if self.live is not None:
            self.live.stop()
            self.live = None

    def _show(self, what: str) -> None:
        if not self.console.is_terminal:
            return
        text = f"[{self.count + 1}/{self.total}] {what}  {self.left}"
        if self.live is None:
            self.live = self.console.status(text)
            self.live.start()
        self.live.update(text)


def told_lines(protocols: Sequence[Protocol], records: Sequence[Record], running: bool) -> list[str]:
    """What will be done."""
    lines = []
    for protocol in protocols:
        steps = list(schedule(protocol))
        done = sum(1 for step in steps if step.key in runs(records))
        lines.append(f"{protocol.name:<9} {len(steps):>3} runs{f', {done} done' if done else ''}  {protocol.question}")
        lines += [f"{'':<9} {remark}" for remark in protocol.remarks]
    others = {t.stand.key for p in protocols for t in p.trials if t.stand.key != AS_GIVEN}
    if others:
        lines.append(
            f"{len(others)} more stacks are started in between" + (", and yours at the end" if running else "")
        )
    return lines


def run_line(protocol: Protocol, step: Step, ran: RunDone) -> str:
    """A run in one line."""
    name = f"{protocol.name}: {step.trial.key}, run {step.round}"
    if ran.started is not None:
        return f"{name}: {ran.started:.1f} s"
    alone = len(ran.models) == 1
    return f"{name}: {'; '.join(_model_words('' if alone else model, one) for model, one in ran.models.items())}"


def _model_words(model: str, one: Figures) -> str:
    failed = f", {one.failed} FAILED" if one.failed else ""
    first = f", first token {one.ttft.p50:.0f} ms" if one.ttft else ""
    name = f"{model} " if model else ""
    return f"{name}{one.tokens:,.0f} tok/s, {one.requests:.1f} req/s{first}{failed}"


def look_words(trial: Trial, size: Size) -> str:
    """What a first look found."""
    words = []
    for load, rate, processes in zip(trial.loads, size.rates, size.processes, strict=True):
        by = f" by {processes} processes" if processes > 1 else ""
        words.append(f"{load.name} {number(rate)} req/s at {load.concurrency} at once{by}")
    return ", ".join(words)


def found_lines(found: Experiment) -> list[str]:
    """An experiment's answer."""
    lines = ["", f"{found.name}: {found.question}"]
    for comparison in found.comparisons:
        lines += _comparison(comparison)
    return [*lines, *(f"  note: {remark}" for remark in found.remarks)]


def _comparison(one: Comparison) -> list[str]:
    lines = [f"  {one.name} ({one.condition})"]
    said = {verdict.arm: verdict.words for verdict in one.verdicts}
    wide = max((len(arm.name) for arm in one.arms), default=0)
    for arm in one.arms:
        count = f"{len(arm.runs)} runs" if len(arm.runs) > 1 else "1 run"
        spread = f"{number(arm.least)} to {number(arm.most)}, {count}"
        name = f"{arm.name:>{wide}}" if one.kind == "curve" else f"{arm.name:<{wide}}"
        words = f"  {said[arm.name]}" if arm.name in said else ""
        lines.append(f"    {name}  {number(arm.median):>9} {one.unit}  [{spread}]{words}")
    return lines


def number(value: float) -> str:
    """Three digits that matter, at least."""
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 100 else f"{value:.2f}"
