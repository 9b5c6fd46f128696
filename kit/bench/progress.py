"""What `bench` prints while it works, and the findings as text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from kit.bench.design import AS_GIVEN, Protocol, Step, Trial, schedule
from kit.bench.journal import Record, RunDone, runs
from kit.bench.results import Comparison, Experiment, Figures
from kit.bench.sizing import Size
from kit.units import duration

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status


class Bar:
    """On a terminal a live line: what runs, how far it is, what is left. Elsewhere a line for each run."""

    def __init__(self, console: Console, total: int) -> None:
        self.console, self.total, self.count, self.left = console, total, 0, ""
        self.live: Status | None = None

    def running(self, what: str) -> Callable[[int, int], None]:
        """Show a run; call what is returned with how many of its requests are answered."""
        self._show(what)
        return lambda done, of: self._show(f"{what}  {done} of {of} requests")

    def done(self, line: str, seconds_left: float) -> None:
        """A run is done."""
        self.count += 1
        self.left = f"{duration(seconds_left)} left"
        self.close()
        self.console.print(f"[{self.count}/{self.total}] {line}  ({self.left})", markup=False, soft_wrap=True)

    def close(self) -> None:
        """End the live line."""
        if self.live is not None:
            self.live.stop()
            self.live = None

    def _show(self, what: str) -> None:
        text = f"[{self.count + 1}/{self.total}] {what}  {self.left}"
        if self.live is not None:
            self.live.update(text)
        elif self.console.is_terminal:
            self.live = self.console.status(text)
            self.live.start()


def plan_lines(protocols: Sequence[Protocol], records: Sequence[Record], running: bool) -> Iterator[str]:
    """What will be measured."""
    for protocol in protocols:
        steps = list(schedule(protocol))
        done = sum(step.key in runs(records) for step in steps)
        yield f"{protocol.name:<12} {len(steps):>3} runs{f', {done} done' if done else ''}  {protocol.question}"
        yield from (f"{'':<12} {remark}" for remark in protocol.remarks)
    others = {t.variant.key for p in protocols for t in p.trials if t.variant.key != AS_GIVEN}
    if others:
        yield f"{len(others)} more stacks are started in between" + (", and yours at the end" if running else "")


def run_line(protocol: Protocol, step: Step, run: RunDone) -> str:
    """A run in one line."""
    name = f"{protocol.name}: {step.trial.key}, run {step.round}"
    if run.started is not None:
        return f"{name}: {run.started:.1f} s"
    named = {f"{model} " if len(run.models) > 1 else "": one for model, one in run.models.items()}
    return f"{name}: {'; '.join(_figures_text(model, one) for model, one in named.items())}"


def _figures_text(model: str, one: Figures) -> str:
    failed = f", {one.failed} FAILED" if one.failed else ""
    first = f", first token {one.ttft.p50:.0f} ms" if one.ttft else ""
    return f"{model}{one.tokens:,.0f} tok/s, {one.requests:.1f} req/s{first}{failed}"


def pilot_text(trial: Trial, size: Size) -> str:
    """What a pilot found."""
    return ", ".join(
        f"{load.name} {number(rate)} req/s at {load.concurrency} at once{f' by {n} processes' if n > 1 else ''}"
        for load, rate, n in zip(trial.loads, size.rates, size.processes, strict=True)
    )


def found_lines(found: Experiment) -> Iterator[str]:
    """An experiment's answer."""
    yield from ("", f"{found.name}: {found.question}")
    for comparison in found.comparisons:
        yield from _comparison(comparison)
    yield from (f"  note: {remark}" for remark in found.remarks)


def _comparison(one: Comparison) -> Iterator[str]:
    yield f"  {one.name} ({one.condition})"
    verdicts = {verdict.arm: f"  {verdict.words}" for verdict in one.verdicts}
    wide = max((len(arm.name) for arm in one.arms), default=0)
    for arm in one.arms:
        count = f"{len(arm.runs)} runs" if len(arm.runs) > 1 else "1 run"
        name = f"{arm.name:>{wide}}" if one.kind == "curve" else f"{arm.name:<{wide}}"
        spread = f"{number(arm.least)} to {number(arm.most)}, {count}"
        yield f"    {name}  {number(arm.median):>9} {one.unit}  [{spread}]{verdicts.get(arm.name, '')}"


def number(value: float) -> str:
    """At least three significant digits."""
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 100 else f"{value:.2f}"
