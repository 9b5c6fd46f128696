"""The program that runs in a load container, with vllm replaced by a package that answers at once."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest

from kit.bench.load_server import SAMPLE_SECONDS
from tests.fakes.fakevllm import Here, answer, children, listening, settled
from tests.fakes.pretend_gpu import wait_for


@pytest.fixture(scope="module")
def here() -> Iterator[Here]:
    with listening() as found:
        yield found


def test_a_good_run_brings_its_result_and_leaves_no_file(here: Here) -> None:
    words, end = here.run("good", seed=7)
    assert words.splitlines() == ["sending"]
    assert (end["exit_code"], end["every"]) == (0, SAMPLE_SECONDS)
    assert json.loads(end["result"])["who"] == "7" and json.loads(end["result"])["text"] == "ü\u2028\n"
    assert 0 < end["seconds"] < 30
    assert not (here.folder / "7.json").exists()


def test_vllm_is_imported_once_however_often_it_runs(here: Here) -> None:
    before = here.imported
    pids = {json.loads(here.run("good", seed=n)[1]["result"])["pid"] for n in range(2)}
    assert here.imported == before == [here.process.pid] * 2 and len(pids) == 2


@pytest.mark.parametrize(
    ("kind", "code", "words"),
    [
        ("refuses", 2, "sending\nerror: unrecognized arguments: --x\n"),
        ("says why", 1, "sending\nno model is there\n"),
        ("raises", 1, "sending\nValueError: Initial test run failed\n"),
    ],
)
def test_a_run_that_fails_says_its_words_and_its_exit_code(here: Here, kind: str, code: int, words: str) -> None:
    said, end = here.run(kind)
    assert (end["exit_code"], end["result"]) == (code, None)
    assert said == words


def test_a_run_that_dies_is_told_by_its_signal_and_the_program_lives_on(here: Here) -> None:
    _, end = here.run("dies")
    assert end["exit_code"] == -6 and end["result"] is None
    assert here.run("good")[1]["exit_code"] == 0


def test_a_run_that_leaves_no_result_says_so(here: Here) -> None:
    _, end = here.run("mute")
    assert (end["exit_code"], end["result"]) == (0, None)


def test_words_come_while_it_runs(here: Here) -> None:
    caller = here.ask("slow")
    first, began = caller.recv(8), time.monotonic()
    words, end = answer(caller)
    assert first.startswith(b"sending") and time.monotonic() - began > 1
    assert words.count("/4 [") == 4 and end["exit_code"] == 0
    assert end["seconds"] >= 1.6 and len(end["cpu"]) >= 5


def test_several_run_at_once_and_each_gets_its_own(here: Here) -> None:
    callers = [here.ask("slow", seed) for seed in range(4)]
    results = [json.loads(answer(caller)[1]["result"]) for caller in callers]
    assert [result["who"] for result in results] == ["0", "1", "2", "3"]
    assert max(result["from"] for result in results) < min(result["to"] for result in results)


def test_a_run_gets_the_environment_that_is_sent_and_the_next_does_not(here: Here) -> None:
    keys = [json.loads(here.run("good", env=env)[1]["result"])["key"] for env in ({"OPENAI_API_KEY": "k"}, {})]
    assert keys == ["k", ""]


def test_the_processor_s_time_is_sampled(here: Here) -> None:
    idle, busy = here.run("slow")[1]["cpu"], here.run("busy")[1]["cpu"]
    assert all(0 <= share < 1.5 for share in (*idle, *busy))
    assert sum(idle) * SAMPLE_SECONDS < 0.5 < sum(busy) * SAMPLE_SECONDS


def test_a_caller_that_goes_away_or_talks_nonsense_stops_nobody(here: Here) -> None:
    here.ask("slow").close()
    nonsense = here.ask("good")
    nonsense.close()
    odd = here.ask("good", seed=3)
    odd.sendall(b"not json\n")
    assert answer(odd)[1]["exit_code"] == 0
    assert here.process.poll() is None and here.run("good")[1]["exit_code"] == 0


def test_ended_runs_are_not_kept(here: Here) -> None:
    for seed in range(3):
        here.run("good", seed)
    settled(here, 4)
    # Ended ones are collected at the next run; one of an earlier test may end late.
    wait_for(lambda: here.run("good") and len(children(here.process.pid)) <= 2)
