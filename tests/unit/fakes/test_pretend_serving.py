"""A pretend worker under load, on its way out, and with a fault while it serves."""

from __future__ import annotations

import http.client
import json
import re
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.fakes.pretend.ledger import MIB
from tests.fakes.pretend_gpu import Rig, Worker, pinned, wait_for

HELLO = [{"role": "user", "content": "hello there"}]
LONG = {"messages": HELLO, "max_tokens": 900, "ignore_eos": True}


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path)
    yield rig
    rig.stop()


def adapter(folder: Path, name: str, rank: int) -> None:
    (folder / name).mkdir()
    (folder / name / "adapter_config.json").write_text(json.dumps({"r": rank}))


def ask(worker: Worker, path: str, **body: Any) -> httpx.Response:
    return worker.http.post(path, json=body)


def events(response: httpx.Response) -> list[Any]:
    frames = [frame.removeprefix("data: ") for frame in response.text.split("\n\n") if frame]
    return [frame if frame == "[DONE]" else json.loads(frame) for frame in frames]


def test_requests_beyond_the_slots_wait(rig: Rig) -> None:
    worker = rig.start(*pinned(64 * MIB), "--max-num-seqs", "1", env={"PRETEND_TOKENS_PER_SECOND": "100"}).ready()
    body = {"prompt": "one", "max_tokens": 60, "ignore_eos": True}
    threads = [threading.Thread(target=ask, args=(worker, "/v1/completions"), kwargs=body) for _ in range(2)]
    for thread in threads:
        thread.start()
    busy = r"num_requests_running\{[^}]*\} 1\.0(?s:.*)num_requests_waiting\{[^}]*\} 1\.0"
    wait_for(lambda: re.search(busy, worker.http.get("/metrics").text))
    for thread in threads:
        thread.join()


def test_the_port_is_taken_early_and_answers_late(rig: Rig) -> None:
    gate = rig.gate("gate", "graphs")
    port = _free_port()
    worker = rig.start(*pinned(64 * MIB), "--port", str(port), env=gate.env)
    wait_for(lambda: "GPU KV cache size" in worker.text)
    with pytest.raises(ConnectionRefusedError):
        http.client.HTTPConnection("127.0.0.1", port, timeout=1).request("GET", "/health")
    gate.open("graphs")
    worker.ready()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
    for _ in range(2):
        connection.request("GET", "/health")
        assert connection.getresponse().read() == b""
    assert worker.text.count("GET /health") == 2


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def _fault(worker: Worker, fault: str) -> None:
    assert ask(worker, "/pretend/fault", fault=fault).status_code == 200


def test_faults_strike_a_serving_worker(rig: Rig) -> None:
    worker = rig.start(*pinned(64 * MIB)).ready()
    _fault(worker, "unhealthy")
    assert worker.http.get("/health").status_code == 503
    _fault(worker, "no-chat-template")
    refused = ask(worker, "/v1/chat/completions", messages=HELLO)
    assert (refused.status_code, "chat template" in refused.text) == (400, True)
    _fault(worker, "stream-error")
    response = ask(worker, "/v1/chat/completions", messages=HELLO, stream=True)
    assert (response.status_code, events(response)[-2]["error"]["code"], events(response)[-1]) == (200, 500, "[DONE]")
    _fault(worker, "hang")
    assert worker.http.get("/health").status_code == 200
    with pytest.raises(httpx.ReadTimeout):
        worker.http.post("/v1/chat/completions", json={"messages": HELLO}, timeout=0.2)
    _fault(worker, "")
    assert ask(worker, "/v1/chat/completions", messages=HELLO).status_code == 200
    assert ask(worker, "/pretend/fault", fault="nonsense").status_code == 400


def test_a_dead_engine_ends_its_server_with_0(rig: Rig) -> None:
    """So does vLLM (vllm-project/vllm#48966): a policy that restarts on failure alone does not see it."""
    worker = rig.start(*pinned(64 * MIB), env={"PRETEND_FAULT": "die-after:2"}).ready()
    answers = [ask(worker, "/v1/completions", prompt="one").status_code for _ in range(2)]
    assert (answers, worker.exit_code()) == ([200, 200], 0)
    assert "EngineCore encountered a fatal error." in worker.text


def test_a_killed_worker_is_137(rig: Rig) -> None:
    worker = rig.start(*pinned(64 * MIB), env={"PRETEND_FAULT": "kill-after:1"}).ready()
    assert ask(worker, "/v1/completions", prompt="one").status_code == 200
    assert worker.exit_code() == -signal.SIGKILL


def test_a_wrong_model_is_healthy_and_answers_to_another_name(rig: Rig) -> None:
    worker = rig.start(
        *pinned(64 * MIB), "--served-model-name", "mine", env={"PRETEND_FAULT": "wrong-model-name"}
    ).ready()
    assert worker.http.get("/health").status_code == 200
    assert worker.http.get("/v1/models").json()["data"][0]["id"] == "Qwen/Qwen3-0.6B"
    assert ask(worker, "/v1/chat/completions", model="mine", messages=HELLO).status_code == 404


@pytest.mark.parametrize(
    ("flags", "stop", "reason"),
    [((), "", "abort"), (("--shutdown-timeout", "10"), "", "length"), ((), "10", "length")],
)
def test_sigterm_aborts_what_runs_unless_given_time(rig: Rig, flags: tuple[str, ...], stop: str, reason: str) -> None:
    env = {"PRETEND_TOKENS_PER_SECOND": "400", "PRETEND_STOP": stop}
    worker = rig.start(*pinned(64 * MIB), *flags, env=env).ready()
    with worker.http.stream(
        "POST", "/v1/chat/completions", json={**LONG, "max_tokens": 200, "stream": True}
    ) as response:
        lines = response.iter_lines()
        next(lines)
        worker.process.send_signal(signal.SIGTERM)
        chunks = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: {")]
    assert chunks[-1]["choices"][0]["finish_reason"] == reason
    assert worker.exit_code() == 0


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (
            ("--enable-lora", "--lora-modules", "gone=/nowhere"),
            "Loading lora gone failed: No adapter found for /nowhere",
        ),
        (("--enable-lora", "--lora-modules", "wide=WIDE"), "LoRA rank 64 is greater than max_lora_rank 16."),
        (("--lora-modules", "wide=WIDE"), "LoRA is not enabled. Use --enable-lora to enable LoRA."),
    ],
)
def test_an_adapter_that_cannot_load_ends_the_start(rig: Rig, flags: tuple[str, ...], said: str) -> None:
    adapter(rig.folder, "wide", 64)
    worker = rig.start(*pinned(64 * MIB), *(flag.replace("WIDE", f"{rig.folder}/wide") for flag in flags))
    assert worker.exit_code() == 1
    assert said in worker.text
