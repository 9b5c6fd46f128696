"""How a load is looked at before it is measured, without an Engine; whole walks are in test_bench_real.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pytest

from kit.bench.design import Trial
from kit.bench.journal import PilotDone
from kit.bench.load_containers import Print, Sent
from kit.bench.results_dir import ResultsDir
from kit.bench.steps import (
    MAX_PILOTS,
    StepRunner,
)
from kit.bench.vllm_results import LEAST_SECONDS
from tests.support.benchfolder import copied, folder_of
from tests.support.benchrequests import example, protocols
from tests.support.servejson import Sent as Request
from tests.support.servejson import generated

AT_ONCE = 32


@dataclass
class Worker:
    """Load containers whose process sends `each` requests a second at most, of `all` that the worker answers; the
    first load is answered at a tenth of that, as by a worker that has not served yet."""

    all: float
    each: float
    asked: list[tuple[int, int]] = field(default_factory=list)

    def router_url(self) -> str:
        return "http://router:30000"

    def prepare(self, service: str) -> None: ...

    def cpu(self) -> dict[str, float]:
        return {}

    def worker(self, service: str) -> tuple[str, str, bool]:
        return f"http://{service}:8000", f"/models/{service}", False

    def send(self, service: str, argv: tuple[str, ...], env: Mapping[str, str], show: Print) -> Sent:
        told = dict(pairwise(argv))
        count, concurrency = int(told["--num-prompts"]), int(told["--max-concurrency"])
        processes = round(AT_ONCE / concurrency)
        first = not self.asked
        self.asked.append((count, processes))
        rate = min(self.all / processes, self.each) / (10 if first else 1)
        busy = 1.0 if rate * processes >= self.each * processes * 0.99 and not first else 0.3
        sent = [Request(1000 + n / rate, 1 / rate, (), 1) for n in range(count)]
        return Sent(generated(sent), count / rate, (busy,) * 400, 0.05)


class Running:
    """A stack that runs."""

    now, changed = None, False

    def key(self) -> str | None:
        return None


def looked(folder: Path, worker: Worker) -> PilotDone:
    """At full load of one model."""
    session = copied(folder)
    files = ResultsDir.at(folder_of(session))
    made = protocols(example("trio-16gb", "standard"))["router"]
    work = StepRunner(session, [made], files, cast(Any, Running()), cast(Any, worker), 32)
    trial: Trial = made.trials[0]
    assert trial.loads[0].concurrency == AT_ONCE
    work._pilot(made, trial)
    (found,) = (record for record in files.records if isinstance(record, PilotDone))
    return found


def test_a_worker_that_is_faster_than_the_first_look_said_is_looked_at_again(tmp_path: Path) -> None:
    worker = Worker(all=100, each=1000)
    found = looked(tmp_path, worker)
    assert list(found.size.rates) == pytest.approx([100]) and found.size.processes == (1,)
    seconds = [count / 100 for count, _ in worker.asked[1:]]
    assert seconds[0] < LEAST_SECONDS <= seconds[-1] and len(worker.asked) == 3


def test_a_process_that_cannot_keep_up_gets_another_beside_it(tmp_path: Path) -> None:
    worker = Worker(all=150, each=100)
    found = looked(tmp_path, worker)
    assert found.size.processes == (2,) and list(found.size.rates) == pytest.approx([150])


def test_looking_comes_to_an_end(tmp_path: Path) -> None:
    """Of a worker that is three times as fast each time."""

    class Warming(Worker):
        def send(self, service: str, argv: tuple[str, ...], env: Mapping[str, str], show: Print) -> Sent:
            self.all, self.each = self.all * 3, self.each * 3
            return super().send(service, argv, env, show)

    worker = Warming(all=20, each=1000)
    looked(tmp_path, worker)
    assert len(worker.asked) == MAX_PILOTS + 1


def test_what_was_looked_at_is_not_looked_at_again(tmp_path: Path) -> None:
    session, worker = copied(tmp_path), Worker(all=100, each=1000)
    files = ResultsDir.at(folder_of(session))
    made = protocols(example("trio-16gb", "standard"))
    mine = [made["router"], made["sweep"], made["contention"]]
    work = StepRunner(session, mine, files, cast(Any, Running()), cast(Any, worker), 32)
    alike = [
        (protocol, trial)
        for protocol in mine
        for trial in protocol.trials
        if len(trial.loads) == 1 and trial.loads[0] == made["router"].trials[1].loads[0]
    ]
    assert len(alike) == 3
    for protocol, trial in alike:
        work._pilot(protocol, trial)
    asked = len(worker.asked)
    found = [record for record in files.records if isinstance(record, PilotDone)]
    assert [one.key for one in found] == [f"{protocol.name}.{trial.key}" for protocol, trial in alike]
    assert len({one.size for one in found}) == 1 and [one.seconds == 0 for one in found] == [False, True, True]
    for protocol, trial in alike:
        work._pilot(protocol, trial)
    assert len(worker.asked) == asked
