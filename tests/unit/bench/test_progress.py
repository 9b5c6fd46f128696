"""What `bench` says: beforehand, for every run, and at the end."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from kit.bench.analyze import experiment
from kit.bench.design import Step, schedule
from kit.bench.journal import RunDone
from kit.bench.progress import Bar, found_lines, number, pilot_text, plan_lines, run_line
from kit.bench.results import Figures, Percentiles
from kit.bench.sizing import Size
from tests.support.benchrequests import bench_request, example, protocols
from tests.support.paths import GOLDEN

Golden = Callable[[Path, str], None]
ALL = protocols(bench_request())
STEPS = {step.key: (one, step) for one in ALL.values() for step in schedule(one)}
FIGURES = Figures(1234.5, 9.87, 80, 0, None, Percentiles(12.3, 20, 30), Percentiles(1, 2, 3), Percentiles(5, 6, 7))


def bar(terminal: bool, total: int = 3) -> tuple[Bar, io.StringIO]:
    text = io.StringIO()
    return Bar(Console(file=text, force_terminal=terminal, width=100), total), text


# ---- while it works


def test_where_no_terminal_is_a_run_is_a_line() -> None:
    made, text = bar(terminal=False)
    progress = made.running("router.direct-1.1")
    progress(3, 10)
    made.done("router: direct-1, run 1: 5 tok/s", 90.0)
    made.count += 1  # a run that was done before
    made.done("router: through-1, run 1: 5 tok/s [odd]" + " and more" * 12, 0.4)
    made.close()
    assert text.getvalue().splitlines() == [
        "[1/3] router: direct-1, run 1: 5 tok/s  (1 min 30 s left)",
        "[3/3] router: through-1, run 1: 5 tok/s [odd]" + " and more" * 12 + "  (0 s left)",
    ]


def test_on_a_terminal_a_line_lives_and_says_how_far_it_is() -> None:
    made, text = bar(terminal=True)
    progress = made.running("router.direct-1.1")
    progress(3, 10)
    assert made.live and "3 of 10 requests" in str(made.live.status)
    made.done("router: direct-1, run 1: 5 tok/s", 90.0)
    assert made.live is None
    made.running("router.through-1.1")
    assert made.live and "[2/3] router.through-1.1  1 min 30 s left" in str(made.live.status)
    made.close()
    made.close()
    assert made.live is None and "router: direct" in text.getvalue()


def ran(key: str, **models: Figures) -> RunDone:
    return RunDone(key, "d", 9.0, 8.0, models=models)


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (
            ran("router.direct-32.2", chat=FIGURES),
            "router: direct-32, run 2: 1,234 tok/s, 9.9 req/s, first token 12 ms",
        ),
        (
            ran("router.direct-32.2", chat=replace(FIGURES, failed=3)),
            "router: direct-32, run 2: 1,234 tok/s, 9.9 req/s, first token 12 ms, 3 FAILED",
        ),
        (
            ran("contention.together.1", chat=FIGURES, embed=replace(FIGURES, tokens=9, ttft=None)),
            "contention: together, run 1: chat 1,234 tok/s, 9.9 req/s, first token 12 ms; embed 9 tok/s, 9.9 req/s",
        ),
        (replace(ran("startup.parallel, warm.1"), started=61.26), "startup: parallel, warm, run 1: 61.3 s"),
    ],
)
def test_a_run_in_a_line(record: RunDone, said: str) -> None:
    assert run_line(*STEPS[record.key], record) == said


def test_what_a_look_found() -> None:
    (trial,) = (trial for trial in ALL["contention"].trials if trial.key == "together")
    assert pilot_text(trial, Size((1234.5, 12.0, 0.5), (4, 1, 1))) == (
        "chat 1,234 req/s at 32 at once by 4 processes, small 12.00 req/s at 32 at once, tiny 0.50 req/s at 32 at once"
    )


@pytest.mark.parametrize(
    ("value", "said"), [(0, "0.00"), (0.126, "0.13"), (99.99, "99.99"), (100, "100.0"), (12345.6, "12,346")]
)
def test_a_number_has_three_digits_that_matter(value: float, said: str) -> None:
    assert number(value) == said


# ---- beforehand and at the end


def test_what_will_be_done_is_told_with_what_is_done_and_what_is_not() -> None:
    mine = [
        one for name, one in protocols(example("cpu-demo", "quick")).items() if name in ("router", "mps", "startup")
    ]
    done = [ran("router.direct-8.1", chat=FIGURES), ran("sweep.chat-1.1", chat=FIGURES)]
    assert list(plan_lines(mine, done, running=True)) == [
        "router        12 runs, 1 done  What is the router overhead?",
        "mps            0 runs  Do models that share a card serve more with NVIDIA MPS?",
        "             MPS shares a card, and this stack has none",
        "startup        2 runs  How long does it take from nothing until every name has answered?",
        "2 more stacks are started in between, and yours at the end",
    ]
    assert [*plan_lines(mine, done, running=False)][-1] == "2 more stacks are started in between"
    assert len([*plan_lines(mine[:1], (), running=True)]) == 1


def test_what_was_found_in_words(golden: Golden) -> None:
    """Of invented figures: some arms differ, some do not, some have failures, and one experiment is half done."""
    mine = protocols(example("cpu-demo", "quick"))
    lines = []
    for name, upto in (("router", None), ("sweep", None), ("contention", None), ("startup", 1), ("mps", None)):
        steps = list(schedule(mine[name]))[:upto]
        records = {step.key: invented(step) for step in steps}
        lines += found_lines(experiment(mine[name], records))
    golden(GOLDEN / "bench" / "bench-found.txt", "\n".join([*lines, ""]))


def invented(step: Step) -> RunDone:
    """Slower through the router, and beside others; a little different in every round."""
    slow = 2.0 if len(step.trial.loads) > 1 else 1.3 if step.trial.key.startswith("through-8") else 1.0
    factor = slow * (1 + step.round / 50)
    models = {
        load.name: replace(
            FIGURES,
            tokens=1000 * load.concurrency / factor,
            failed=2 if load.name == "embed" and step.round == 3 else 0,
            ttft=None if load.task == "embed" else Percentiles(20 * factor, 30, 40),
        )
        for load in step.trial.loads
    }
    return replace(ran(step.key, **models), started=None if models else 61.26)


def test_of_one_run_there_is_one_run() -> None:
    key = "router.direct-1.1"
    lines = list(found_lines(experiment(ALL["router"], {key: ran(key, chat=FIGURES)})))
    assert lines[:2] == ["", "router: What is the router overhead?"]
    assert "    direct      12.30 ms  [12.30 to 12.30, 1 run]" in lines
