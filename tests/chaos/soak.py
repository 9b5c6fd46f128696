"""Faults at random, one after another, while a steady client asks every name."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tests.chaos.conftest import TASKS, Stack, left_behind, soon
from tests.walks import TINY, model


def restarts_by_itself(fault: str) -> Callable[[Stack, str], None]:
    def strike(stack: Stack, name: str) -> None:
        before = stack.walk.containers()[name].restarts
        stack.strike(name, fault)
        soon(lambda: stack.restarted(name, before))

    return strike


def killed(stack: Stack, name: str) -> None:
    before = stack.walk.containers()[name].restarts
    stack.kill(name)
    soon(lambda: stack.restarted(name, before))


def unhealthy(stack: Stack, name: str) -> None:
    stack.walk.fault(name, "unhealthy")
    soon(lambda: stack.walk.containers()[name].health == "unhealthy")
    stack.up()


def hanging(stack: Stack, name: str) -> None:
    stack.walk.fault(name, "hang")
    time.sleep(3)
    stack.walk.compose("restart", "-t", "1", name)


def edited(stack: Stack, name: str) -> None:
    """Another context than it has; the other models stay as they are."""
    task = ("task: embed",) if TASKS[name] == "embed" else ()
    contexts = [words for n in (256, 512, 768) if (words := f"context: {n}") not in stack.models[name]]
    stack.models[name] = model(name, TINY, *task, random.choice(contexts))
    stack.walk.write(*stack.models.values())
    stack.up()


FAULTS: Mapping[str, Callable[[Stack, str], None]] = {
    "killed by its pid": killed,
    "killed for memory (137)": restarts_by_itself("kill-after:1"),
    "engine dies (0)": restarts_by_itself("die-after:1"),
    "unhealthy, then up": unhealthy,
    "hangs, then restarted": hanging,
    "edited, then up": edited,
}
ROUTER = "router killed"


@dataclass
class Tally:
    """Of one fault: how often, the slowest return in seconds, and the struck name's failed requests."""

    times: int = 0
    slowest: float = 0.0
    lost: int = 0


@dataclass
class Soak:
    """What came of it. `harmed` are requests to names that no fault struck, and failed."""

    tallies: dict[str, Tally] = field(default_factory=dict)
    sent: int = 0
    harmed: list[str] = field(default_factory=list)


def soak(stack: Stack, seconds: float, say: Callable[[str], None], seed: int) -> Soak:
    dice, found = random.Random(seed), Soak()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        fault = dice.choice([*FAULTS, ROUTER])
        name = "router" if fault == ROUTER else dice.choice([*TASKS])
        _round(stack, fault, name, found, say)
        time.sleep(dice.uniform(1, 4))
    stack.whole()
    found.sent = stack.client.asked()
    assert left_behind(stack.walk) == []
    return found


def _round(stack: Stack, fault: str, name: str, found: Soak, say: Callable[[str], None]) -> None:
    since = time.monotonic()
    (killed if fault == ROUTER else FAULTS[fault])(stack, name)
    struck = list(TASKS) if fault == ROUTER else [name]
    back = max(stack.answers_again(each, since) for each in struck)
    harmed = [f"{n}: {a.status} {a.said}" for n, a in stack.client.failed(*TASKS, since=since) if n not in struck]
    lost = len(stack.client.failed(*struck, since=since))
    tally = found.tallies.setdefault(fault, Tally())
    tally.times, tally.slowest, tally.lost = tally.times + 1, max(tally.slowest, back), tally.lost + lost
    found.harmed += [f"{fault} of {name}: {words}" for words in harmed]
    if harmed:
        say(stack.said)
    say(f"{fault:<24} {name:<7} again after {back:5.1f} s, lost {lost:3} of its own, {len(harmed)} of others")
