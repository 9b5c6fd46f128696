from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, cast

import pytest

from kit.bench.design import (
    AS_GIVEN,
    StackVariant,
    Trial,
)
from kit.bench.load import (
    LoadSpec,
    Prompts,
)
from kit.bench.load_containers import Loaders, Print, Sent
from kit.bench.run_trial import TrialResult, at_once, send
from kit.errors import Problem, TargetError
from kit.manifest.model import Manifest
from tests.support.planning import model
from tests.support.servejson import embedded, generated, steady

HERE = StackVariant(AS_GIVEN, Manifest.model_validate({"name": "test", "models": [model()]}))
CHAT = LoadSpec("chat", "chat", "generate", Prompts(64, 16), 8, 40, processes=3)
EMBED = LoadSpec("embed", "embed-2", "embed", Prompts(64, 0), 4, 10, target="worker")


class Pretended:
    """Load containers that answer at once; a service that is called "broken" fails."""

    def __init__(self) -> None:
        self.prepared: list[str] = []
        self.sent: list[tuple[str, tuple[str, ...], Mapping[str, str]]] = []

    def router_url(self) -> str:
        return "http://router:30000"

    def prepare(self, service: str) -> None:
        self.prepared.append(service)

    def worker(self, service: str) -> tuple[str, str, bool]:
        return f"http://{service}:8000", f"/models/{service}", service == "embed-2"

    def send(self, service: str, argv: tuple[str, ...], env: Mapping[str, str], show: Print) -> Sent:
        if service == "broken":
            raise TargetError(Problem("it broke"))
        self.sent.append((service, argv, env))
        told = dict(pairwise(argv))
        count = int(told["--num-prompts"])
        for words in ("starting", f"\r 0%| | 0/{count} [", f"\r 100%| | 1/{count} [x\r| {count}/{count} ["):
            show(words)
        made = embedded if told["--backend"] == "openai-embeddings" else generated
        return Sent(made(steady(1000, count, every=1.0)), 2.0, (0.9,) * 100, 0.25)

    def cpu(self) -> dict[str, float]:
        """Half a second of the router's for every load that was sent, on top of what there was."""
        return {"router": 7.0 + len(self.sent) / 2, "chat": 3.0}

    def of(self, service: str) -> list[dict[str, str]]:
        return [dict(pairwise(argv)) for name, argv, _ in self.sent if name == service]


def sent(*loads: LoadSpec, key: str | None = None) -> tuple[TrialResult, Pretended, list[tuple[int, int]]]:
    pretended, seen = Pretended(), list[tuple[int, int]]()
    trial = Trial("a", HERE, loads)
    outcome = send(trial, cast(Loaders, pretended), key, lambda done, of: seen.append((done, of)))
    return outcome, pretended, seen


def test_every_process_of_every_load_sends_its_part() -> None:
    outcome, pretended, _ = sent(CHAT, EMBED)
    assert pretended.prepared == ["chat", "embed-2"]
    assert sorted(int(one["--num-prompts"]) for one in pretended.of("chat")) == [13, 13, 14]
    assert [one["--num-prompts"] for one in pretended.of("embed-2")] == ["10"]
    assert [[part.load.count for part in parts] for parts in outcome.parts] == [[14, 13, 13], [10]]
    for parts in outcome.parts:
        for part in parts:
            assert part.command[part.command.index("--num-prompts") + 1] == str(part.load.count)
            assert part.answer.sums["completed"] == part.load.count


def test_results_lie_in_files_of_their_own() -> None:
    _, pretended, _ = sent(CHAT, EMBED)
    names = [argv[argv.index("--result-filename") + 1] for _, argv, _ in pretended.sent]
    assert sorted(names) == ["0.json", "1.json", "2.json", "3.json"]


def test_a_load_goes_through_the_router_or_straight_to_its_worker() -> None:
    _, pretended, _ = sent(CHAT, EMBED)
    assert {one["--base-url"] for one in pretended.of("chat")} == {"http://router:30000"}
    assert {one["--base-url"] for one in pretended.of("embed-2")} == {"http://embed-2:8000"}
    assert {one["--tokenizer"] for one in pretended.of("chat")} == {"/models/chat"}
    assert all(("--trust-remote-code" in argv) == (service == "embed-2") for service, argv, _ in pretended.sent)


def test_the_key_is_sent_at_the_router_alone_and_is_in_no_command() -> None:
    outcome, pretended, _ = sent(CHAT, EMBED, key="secret")
    assert {service: dict(env) for service, _, env in pretended.sent} == {
        "chat": {"OPENAI_API_KEY": "secret"},
        "embed-2": {},
    }
    assert "secret" not in json.dumps([part.command for parts in outcome.parts for part in parts])


def test_figures_are_those_of_each_name() -> None:
    outcome, _, _ = sent(CHAT, EMBED)
    figures = outcome.figures
    assert (figures["chat"].completed, figures["embed"].completed) == (40, 10)
    assert figures["chat"].tokens == pytest.approx(3 * 10, rel=0.1)
    assert outcome.sending == pytest.approx(14) and outcome.seconds < 60


def test_what_each_service_used_of_the_cores_meanwhile_is_told() -> None:
    assert sent(CHAT, EMBED)[0].cpu == {"router": 2.0, "chat": 0.0}


def test_how_far_all_were_at_it_is_known_where_all_tell_moments() -> None:
    assert sent(CHAT)[0].overlap == pytest.approx(13 / 14)
    assert sent(CHAT, EMBED)[0].overlap is None


def test_a_load_is_saturated_when_one_of_its_processes_is() -> None:
    outcome, _, _ = sent(CHAT, EMBED)
    assert outcome.is_saturated(0) and outcome.is_saturated(1)


def test_progress_is_the_sum_of_all_processes() -> None:
    _, _, seen = sent(CHAT, EMBED)
    assert seen[-1] == (50, 50) and all(0 <= done <= of <= 50 for done, of in seen)


def test_one_load_that_fails_is_the_trial_s_error() -> None:
    with pytest.raises(TargetError, match="it broke"):
        sent(CHAT, LoadSpec("x", "broken", "generate", Prompts(64, 16), 8, 40))


# ---- at once


def test_jobs_run_at_once_and_their_results_keep_their_order() -> None:
    barrier = threading.Barrier(4)

    def job(number: int) -> int:
        barrier.wait(timeout=30)
        time.sleep((4 - number) / 50)
        return number

    assert at_once([lambda n=n: job(n) for n in range(4)]) == [0, 1, 2, 3]  # type: ignore[misc]
    assert at_once([]) == []


def test_the_first_error_is_raised_without_waiting_for_the_others() -> None:
    stop = threading.Event()

    def fails() -> Any:
        raise ValueError("first")

    began = time.monotonic()
    with pytest.raises(ValueError, match="first"):
        at_once([lambda: stop.wait(60), fails])
    assert time.monotonic() - began < 30
    stop.set()
