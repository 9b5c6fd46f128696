"""A real Triton server, on the CPU, on the repository that the kit printed; NVIDIA's own client asks it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
import tritonclient.http as triton

from kit.compose import up as target
from tests.fakes.cardengine import REAL
from tests.support.typed import ROOT, kit
from tests.support.walks import Walk, free_port

pytestmark = pytest.mark.real

EXAMPLE = ROOT / "compose" / "triton"
# The workers' network has no way out; the test's client comes in by a port that the kit never publishes.
PUBLISHED = {"services": {"shout": {"networks": {"edge": {}}, "ports": ["127.0.0.1::8000"]}}}


@dataclass(frozen=True)
class Server:
    """One Triton of a printed project."""

    folder: Path
    client: Any

    def compose(self, *words: str) -> str:
        files = ("-f", "docker-compose.yaml", "-f", "published.json")
        done = subprocess.run(
            ["docker", "compose", *files, *words], cwd=self.folder, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def ask(self, text: str) -> str:
        given = triton.InferInput("text", [1, 1], "BYTES")
        given.set_data_from_numpy(np.array([[text.encode()]], dtype=np.object_))
        return str(self.client.infer("shout", [given]).as_numpy("loud")[0][0].decode())


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("triton")
    shutil.copytree(EXAMPLE / "shout", folder / "shout")
    shutil.copy(EXAMPLE / "facts.json", folder)
    text = (EXAMPLE / "monogpu.yaml").read_text()
    text = text.replace("name: triton\n", f"name: triton-{uuid4().hex[:8]}\n")
    (folder / "monogpu.yaml").write_text(text.replace("{memory: 16GiB}", "{device: none, memory: 8GiB}"))
    (folder / "published.json").write_text(json.dumps(PUBLISHED))
    kit("render", at=folder).good()
    made = Server(folder, None)
    try:
        made.compose("up", "-d", "--wait", "--no-deps", "shout")
        with triton.InferenceServerClient(made.compose("port", "shout", "8000").strip()) as client:
            yield Server(folder, client)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{made.compose('logs', 'shout')}") from None
    finally:
        made.compose("down", "-v", "--remove-orphans")


def test_it_starts_in_explicit_mode_with_the_one_model_that_the_manifest_names(server: Server) -> None:
    assert server.client.is_server_ready() and server.client.is_model_ready("shout")
    index = server.client.get_model_repository_index()
    assert [(model["name"], model["version"], model["state"]) for model in index] == [("shout", "1", "READY")]


def test_the_backend_and_the_tensors_are_taken_from_the_models_own_file(server: Server) -> None:
    config = server.client.get_model_config("shout")
    assert (config["backend"], config["max_batch_size"]) == ("python", 8)
    assert [(one["name"], one["data_type"]) for one in (*config["input"], *config["output"])] == [
        ("text", "TYPE_STRING"), ("loud", "TYPE_STRING"),
    ]  # fmt: skip
    assert config["instance_group"][0]["kind"] == "KIND_CPU"


def test_it_infers_and_its_api_unloads_the_model_and_loads_it_again(server: Server) -> None:
    assert server.ask("well, hello") == "WELL, HELLO"
    server.client.unload_model("shout")
    with pytest.raises(triton.InferenceServerException, match="no available versions"):
        server.ask("is anybody there")
    assert server.client.is_server_live()
    server.client.load_model("shout")
    assert server.ask("again") == "AGAIN"


# ---- the whole walk: behind the real router, with a chat model of an Ollama that pretends

BESIDE = """\
name: {name}
gpu: {{device: none, memory: 4GiB}}
router: {{image: monogpu/smg:1.13.0, haproxy_image: monogpu/haproxy:3.2, port: {port}, api_key: TRITON_KEY}}
models:
  - {{name: chat, source: qwen2.5:0.5b, engine: ollama, memory: 512MiB, image: "monogpu/pretend:1"}}
  - {{name: shout, source: ./shout, engine: triton, task: infer, memory: 1GiB}}
"""


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walk]:
    folder, name, port = tmp_path_factory.mktemp("walk"), f"triton-{uuid4().hex[:8]}", free_port()
    shutil.copytree(EXAMPLE / "shout", folder / "shout")
    (folder / "monogpu.yaml").write_text(BESIDE.format(name=name, port=port))
    client = target.connect(os.environ)
    host = os.environ.get("DOCKER_HOST", f"unix://{REAL}")
    made = Walk(name, folder, host, client, port, environ={"TRITON_KEY": "k3y"})
    try:
        made.kit("up").good()
        yield made
    finally:
        made.vanish()
        client.close()


def test_verify_asks_for_tensors_at_the_one_endpoint(walk: Walk) -> None:
    checks = {(c["name"], c["what"]): c for c in walk.kit("verify", "--json").good().json["checks"]}
    assert checks["shout", "gives tensors"]["detail"] == "loud BYTES [1, 1]"
    assert checks["chat", "answers a token"]["ok"] and checks["/v1/models", "lists the declared names"]["ok"]


def test_tritons_client_infers_through_the_endpoint_with_the_key_and_may_not_unload(walk: Walk) -> None:
    key = {"Authorization": "Bearer k3y"}
    with triton.InferenceServerClient(f"127.0.0.1:{walk.port}") as client:
        given = triton.InferInput("text", [1, 1], "BYTES")
        given.set_data_from_numpy(np.array([[b"through the front"]], dtype=np.object_))
        assert client.infer("shout", [given], headers=key).as_numpy("loud")[0][0] == b"THROUGH THE FRONT"
        with pytest.raises(triton.InferenceServerException, match="key"):
            client.infer("shout", [given])
        with pytest.raises(triton.InferenceServerException):
            client.unload_model("shout", headers=key)
        assert client.is_model_ready("shout", headers=key)
