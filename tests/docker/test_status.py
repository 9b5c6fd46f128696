"""`status` and `logs` of a running stack: what a load does to it, and what is left when a worker dies."""

from __future__ import annotations

import json
import os
import re
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from kit.compose import up
from tests.fakes.pretend.ledger import foreign
from tests.support.walks import TINY, Walk, model, soon, walk

if TYPE_CHECKING:
    from docker import DockerClient

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def client() -> Iterator[DockerClient]:
    found = up.connect(os.environ)
    found.images.get("monogpu/pretend:1")
    yield found
    found.close()


@pytest.fixture(scope="module")
def running(client: DockerClient, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walk]:
    with walk(tmp_path_factory.mktemp("status"), client) as made:
        made.write(
            model("chat", TINY, env='PRETEND_TOKENS_PER_SECOND: "20"'), model("embed", TINY, "task: embed", "weight: 2")
        )
        made.up().good()
        yield made


def services(running: Walk) -> dict[str, dict[str, Any]]:
    said = running.kit("status", "--json")
    found = {one["service"]: one for one in said.json["services"]}
    assert said.code == (5 if any(one["failing"] for one in found.values()) else 0)
    return found


def test_at_rest_everything_is_well_and_does_nothing(running: Walk) -> None:
    seen = services(running)
    assert list(seen)[-3:] == ["chat", "embed", "router"]
    assert all(one["well"] for one in seen.values())
    assert [(seen[name]["running"], seen[name]["waiting"], seen[name]["kv_used"]) for name in ("chat", "embed")] == [
        (0, 0, 0.0),
        (0, 0, 0.0),
    ]
    assert seen["chat"]["planned_bytes"] > 2**30
    assert (seen["router"]["planned_bytes"], seen["router"]["kv_used"]) == (None, None)


def test_under_load_a_worker_shows_its_requests_its_cache_and_its_speed(running: Walk) -> None:
    body = {"model": "chat", "prompt": "hello " * 50, "max_tokens": 900, "ignore_eos": True}
    url = f"http://127.0.0.1:{running.port}/v1/completions"

    def load() -> None:
        with (
            httpx.Client(trust_env=False, timeout=120) as http,
            http.stream("POST", url, json=body | {"stream": True}) as s,
        ):
            for _ in s.iter_lines():
                if done.is_set():
                    return

    done = threading.Event()
    thread = threading.Thread(target=load)
    thread.start()
    try:
        soon(lambda: services(running)["chat"]["running"] == 1)
        seen = services(running)["chat"]
        assert seen["kv_used"] > 0
        assert 1 < seen["tokens_per_second"] < 60
        assert services(running)["embed"]["running"] == 0
    finally:
        done.set()
        thread.join()


def test_without_a_terminal_watching_is_one_look_at_eighty_columns(running: Walk) -> None:
    running.environ["COLUMNS"] = "80"
    said = running.kit("status", "--watch").good().out
    assert "2 of 2 names routed" in said
    assert "\x1b" not in said
    rows = [line for line in said.splitlines() if line.startswith(("service", "chat", "embed", "router"))]
    assert len(rows) == 4
    assert max(len(row) for row in rows) <= 80


def test_a_worker_that_was_killed_says_so_and_the_others_go_on(running: Walk, client: DockerClient) -> None:
    client.api.kill(running.ids()["embed"])
    soon(lambda: not running.running("embed"))
    seen = services(running)
    assert (seen["embed"]["state"], seen["embed"]["exit_code"], seen["embed"]["well"]) == ("exited", 137, False)
    assert seen["embed"]["cause"] == "it was killed"
    assert seen["chat"]["well"]
    printed = running.kit("status").out
    assert running.kit("status").code == 5
    assert "embed: it was killed; " in printed
    assert "exited 137" in printed
    logs = running.kit("logs", "embed", "--tail", "3").good()
    assert logs.err.strip().startswith("embed: it was killed; ")
    assert running.kit("logs", "chat", "--tail", "3").good().err == ""


def test_a_worker_that_docker_starts_again_and_again_says_how_often_and_why(
    client: DockerClient, tmp_path: Path
) -> None:
    """It ran, and then cannot start any more: `up` is long over, and nobody stops it."""
    with walk(tmp_path, client) as made:
        made.write(model("chat"))
        made.up("--no-verify").good()
        free = json.loads((made.folder / "gpu.json").read_text())["total_bytes"]
        foreign(made.card_file, 4242, "game", free - 2**30)
        os.kill(client.api.inspect_container(made.ids()["chat"])["State"]["Pid"], signal.SIGKILL)
        soon(lambda: made.containers()["chat"].restarts >= 3)
        said = made.kit("status")
        words = " ".join(said.out.split())
        assert said.code == 5
        assert re.search(r"chat was restarted \d+ times in \d+ s, the last time \d+ s ago: .* free", words), words
        assert "will not get well by itself" in words
        foreign(made.card_file, 4242, "game", 0)
        soon(lambda: made.containers()["chat"].health == "healthy")
        assert made.kit("status").code == 0


def test_of_what_never_ran_nothing_is_shown(client: DockerClient, tmp_path: Path) -> None:
    with walk(tmp_path, client) as made:
        made.write(model("chat"))
        assert (
            made.kit("status").good().out == f"{made.name}\nnothing of {made.name} runs; `monogpu-kit up` starts it\n"
        )
        assert made.kit("status", "--json").good().json["services"] == []
