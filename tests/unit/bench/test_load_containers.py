"""Load containers: what they are made of, and how a load is sent through one. Whole ones run in test_bench_real.py."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from kit.bench import load_server
from kit.bench.load_containers import Loaders, body_of, program
from kit.errors import TargetError
from tests.fakes.fakevllm import Here, listening
from tests.support.paths import GOLDEN
from tests.support.servejson import RECORDED

Golden = Callable[[Path, str], None]


def worker() -> dict[str, Any]:
    """What `docker inspect` said of a worker of the CPU demo."""
    found: dict[str, Any] = json.loads((RECORDED / "bench" / "inspect-worker.json").read_text(encoding="utf-8"))
    return found


def on_a_card() -> dict[str, Any]:
    """The same with what a worker on a card has beside it."""
    found = worker()
    found["HostConfig"] |= {
        "DeviceRequests": [{"Driver": "nvidia", "Count": 0, "DeviceIDs": ["0"], "Capabilities": [["gpu"]]}],
        "IpcMode": "host", "Devices": [{"PathOnHost": "/dev/nvidia0"}], "PidMode": "host",
    }  # fmt: skip
    found["Mounts"] += [
        _volume("demo_models", "/cache/huggingface", write=False),
        _volume("demo_compiled-chat", "/cache/vllm", write=True),
        {"Type": "bind", "Source": "/srv/notes", "Destination": "/notes", "RW": True},
    ]
    found["Config"]["Env"] += ["HF_TOKEN=hf_secret", "THE_API_KEY=k", "DB_PASSWORD=p", "TOKENIZERS=fast", "PLAIN=yes"]
    found["Config"]["Env"] += ["NVIDIA_VISIBLE_DEVICES=all"]
    return found


def _volume(name: str, target: str, write: bool) -> dict[str, Any]:
    return {"Type": "volume", "Name": name, "Source": f"/var/lib/docker/{name}", "Destination": target, "RW": write}


def test_a_load_container_as_the_engine_is_asked_for_it(golden: Golden) -> None:
    body = body_of(worker(), "demo", "demo_workers")
    assert body["Entrypoint"][:3] == ["python3", "-u", "-c"] and body["Entrypoint"][3] == program()
    body["Entrypoint"][3] = "(kit/bench/load_server.py)"
    golden(GOLDEN / "bench" / "load-container.json", json.dumps(body, indent=1) + "\n")


def test_it_has_the_image_and_the_user_of_the_worker_and_may_do_no_more() -> None:
    found, body = worker(), body_of(worker(), "demo", "demo_workers")
    assert (body["Image"], body["User"]) == (found["Image"], found["Config"]["User"])
    assert body["HostConfig"]["ReadonlyRootfs"] is True and body["HostConfig"]["CapDrop"] == ["ALL"]
    assert body["HostConfig"]["SecurityOpt"] == ["no-new-privileges:true"]
    assert "PortBindings" not in body["HostConfig"]


def test_it_has_no_card_and_reads_only_what_the_worker_reads() -> None:
    body = body_of(on_a_card(), "demo", "demo_workers")
    assert [one for one in body["Env"] if one.startswith("NVIDIA")] == ["NVIDIA_VISIBLE_DEVICES=void"]
    host = body["HostConfig"]
    assert not {"DeviceRequests", "Devices", "Runtime", "IpcMode", "PidMode"} & host.keys()
    assert host["Mounts"] == [
        {
            "Type": "bind", "Source": "/srv/demo/models/SmolLM2-135M-Instruct", "Target": "/models/chat",
            "ReadOnly": True,
        },
        {"Type": "volume", "Source": "demo_models", "Target": "/cache/huggingface", "ReadOnly": True},
    ]  # fmt: skip


def test_it_knows_no_secret_of_the_worker() -> None:
    environment = body_of(on_a_card(), "demo", "demo_workers")["Env"]
    assert not [one for one in environment if "secret" in one or "KEY" in one or "PASSWORD" in one]
    assert {"TOKENIZERS=fast", "PLAIN=yes", "HF_HUB_OFFLINE=1", "TOKENIZERS_PARALLELISM=false"} <= {*environment}


def test_up_and_down_and_compose_do_not_take_it_for_a_service() -> None:
    labels = body_of(worker(), "demo", "demo_workers")["Labels"]
    assert labels == {"monogpu.load": "demo"}


# ---- a load through a container


class Nearby:
    """The part of an Engine that `send` uses: `docker exec` runs here, beside the program that listens."""

    def __init__(self, here: Here) -> None:
        self.here, self.asked = here, dict[str, list[str]]()
        self.api = self

    def exec_create(self, container: str, argv: list[str]) -> dict[str, str]:
        assert container == "c0ffee" and argv[:2] == ["python3", "-c"]
        assert argv[2].count(load_server.SOCKET) == 1
        name = str(len(self.asked))
        self.asked[name] = [sys.executable, "-c", argv[2].replace(load_server.SOCKET, self.here.socket), *argv[3:]]
        return {"Id": name}

    def exec_start(self, name: str, stream: bool) -> Iterator[bytes]:
        assert stream
        with subprocess.Popen(self.asked[name], stdout=subprocess.PIPE, bufsize=0) as process:
            assert process.stdout
            while chunk := process.stdout.read(65536):
                yield chunk


@pytest.fixture(scope="module")
def loaders() -> Iterator[tuple[Loaders, Here]]:
    with listening() as here:
        made = Loaders(cast(Any, Nearby(here)), "demo")
        made.made["chat"] = "c0ffee"
        yield made, here


def test_what_a_load_left_comes_back(loaders: tuple[Loaders, Here]) -> None:
    said: list[str] = []
    sent = loaders[0].send("chat", loaders[1].argv("good", 5), {"OPENAI_API_KEY": "k"}, said.append)
    found = json.loads(sent.result)
    assert (found["who"], found["key"], found["text"]) == ("5", "k", "ü\u2028\n")
    assert (sent.every, "".join(said).startswith("sending")) == (load_server.SAMPLE_SECONDS, True)
    assert 0 < sent.seconds < 30


def test_its_words_come_while_it_runs(loaders: tuple[Loaders, Here]) -> None:
    said: list[str] = []
    loaders[0].send("chat", loaders[1].argv("slow"), {}, said.append)
    assert len(said) > 3 and "3/4 [" in "".join(said)


@pytest.mark.parametrize(
    ("kind", "code", "words"),
    [
        ("refuses", 2, "error: unrecognized arguments: --x"),
        ("raises", 1, "ValueError: Initial test run failed"),
        ("dies", -6, "sending"),
        ("mute", 0, "sending"),
    ],
)
def test_a_load_that_fails_is_an_error_with_vllm_s_words(
    loaders: tuple[Loaders, Here], kind: str, code: int, words: str
) -> None:
    with pytest.raises(TargetError, match=f"`vllm bench serve` for chat ended with exit code {code}") as caught:
        loaders[0].send("chat", loaders[1].argv(kind), {}, lambda words: None)
    assert words in caught.value.evidence and "exit_code" not in caught.value.evidence


def test_a_program_that_does_not_answer_is_an_error_too() -> None:
    with listening() as here:
        made = Loaders(cast(Any, Nearby(here)), "demo")
        made.made["chat"] = "c0ffee"
        here.process.kill()
        here.process.wait()
        with pytest.raises(TargetError, match="the load for chat ended early"):
            made.send("chat", here.argv("good"), {}, lambda words: None)
