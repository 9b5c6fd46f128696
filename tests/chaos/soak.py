"""Faults at random, one after another, while a steady client asks every name."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tests.chaos.stacks import TASKS, Stack, left_behind, soon

Strike = Callable[[Stack, str, random.Random], None]
IN_FLIGHT = 1.0  # seconds: a request that was sent so shortly before a fault is struck by it


def restarts_by_itself(fault: str) -> Strike:
    def strike(stack: Stack, name: str, dice: random.Random) -> None:
        before = stack.walk.containers()[name].restarts
        stack.strike(name, fault)
        soon(lambda: stack.restarted(name, before))

    return strike


def killed(stack: Stack, name: str, dice: random.Random) -> None:
    before = stack.walk.containers()[name].restarts
    stack.kill(name)
    soon(lambda: stack.restarted(name, before))


def unhealthy(stack: Stack, name: str, dice: random.Random) -> None:
    stack.walk.fault(name, "unhealthy")
    soon(lambda: stack.walk.containers()[name].health == "unhealthy")
    stack.up()


def hanging(stack: Stack, name: str, dice: random.Random) -> None:
    stack.walk.fault(name, "hang")
    time.sleep(3)
    stack.walk.compose("restart", "-t", "1", name)


def edited(stack: Stack, name: str, dice: random.Random) -> None:
    """Another context than it has; the other models stay as they are."""
    had = stack.models.get(name, "")
    context = dice.choice([words for n in (256, 512, 768) if (words := f"context: {n}") not in had])
    stack.models[name] = stack.worker(name, context)
    stack.write(**stack.models)
    stack.up()


FAULTS: Mapping[str, Strike] = {
    "killed by its pid": killed,
    "killed for memory (137)": restarts_by_itself("kill-after:1"),
    "engine dies (0)": restarts_by_itself("die-after:1"),
    "unhealthy, then up": unhealthy,
    "hangs, then restarted": hanging,
    "edited, then up": edited,
}
ROUTER = "router killed"


@dataclass(frozen=True)
class Round:
    """One fault. Requests to `struck` that were sent from `since` to `until`, when they answered again, may fail."""

    fault: str
    struck: tuple[str, ...]
    since: float
    until: float
    said: str = ""

    def excuses(self, name: str, at: float) -> bool:
        return name in self.struck and self.since - IN_FLIGHT <= at <= self.until


@dataclass
class Tally:
    """Of one fault: how often, the slowest return in seconds, and the struck names' failed requests."""

    times: int = 0
    slowest: float = 0.0
    lost: int = 0


@dataclass
class Soak:
    """What came of it. `unstruck` requests went to names that no fault struck at that moment; `harmed` of them failed:
    (round, name, status and words) -> how many."""

    tallies: dict[str, Tally] = field(default_factory=dict)
    rounds: list[Round] = field(default_factory=list)
    sent: int = 0
    unstruck: int = 0
    harmed: Counter[tuple[str, str, str]] = field(default_factory=Counter)


def soak(stack: Stack, seconds: float, say: Callable[[str], None], seed: int) -> Soak:
    dice, found = random.Random(seed), Soak()
    began = time.monotonic()
    while time.monotonic() < began + seconds:
        fault = dice.choice([*FAULTS, ROUTER])
        struck = tuple(TASKS) if fault == ROUTER else (dice.choice([*TASKS]),)
        found.rounds.append(_round(stack, fault, struck, dice, found.tallies, say))
        time.sleep(dice.uniform(1, 4))
    _judge(stack, found, began)
    stack.whole()
    assert left_behind(stack.walk) == []
    return found


def _round(
    stack: Stack, fault: str, struck: tuple[str, ...], dice: random.Random, tallies: dict[str, Tally],
    say: Callable[[str], None],
) -> Round:  # fmt: skip
    since, stack.said = time.monotonic(), ""
    strike, name = (killed, "router") if fault == ROUTER else (FAULTS[fault], struck[0])
    strike(stack, name, dice)
    back = max(stack.answers_again(each, since) for each in struck)
    lost = len(stack.client.failed(*struck, since=since - IN_FLIGHT))
    tally = tallies.setdefault(fault, Tally())
    tally.times, tally.slowest, tally.lost = tally.times + 1, max(tally.slowest, back), tally.lost + lost
    say(f"{fault:<24} {name:<7} again after {back:5.1f} s, lost {lost:3} of its own")
    return Round(fault, struck, since, time.monotonic(), stack.said)


def _judge(stack: Stack, found: Soak, began: float) -> None:
    """Every request since it began is somebody's: of a name that was struck just then, or not."""
    for name in TASKS:
        for answer in [each for each in stack.client.answers[name] if each.at >= began]:
            found.sent += 1
            if any(each.excuses(name, answer.at) for each in found.rounds):
                continue
            found.unstruck += 1
            if not answer.good:
                found.harmed[_round_of(found.rounds, answer.at), name, f"{answer.status} {answer.said[:120]}"] += 1


def _round_of(rounds: list[Round], at: float) -> str:
    """The last round that had begun."""
    begun = [each for each in rounds if each.since <= at]
    return f"{begun[-1].fault} of {', '.join(begun[-1].struck)}" if begun else "before the first round"
