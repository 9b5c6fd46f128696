"""A real Triton server, on the CPU, on the repository that the kit printed for compose/triton; NVIDIA's own client asks it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
import tritonclient.http as triton

from kit.targets import compose as target
from kit.verify import asking
from kit.verify.tensors import tensors
from tests.typed import ROOT, kit

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
    shutil.copytree(EXAMPLE / "models", folder / "models")
    shutil.copy(EXAMPLE / "facts.json", folder)
    text = (EXAMPLE / "monogpu.yaml").read_text()
    text = text.replace("name: triton\n", f"name: triton-{uuid4().hex[:8]}\n")
    (folder / "monogpu.yaml").write_text(text.replace("{memory: 16GiB}", "{device: none, memory: 8GiB}"))
    (folder / "published.json").write_text(json.dumps(PUBLISHED))
    kit("render", at=folder).good()
    made = Server(folder, None)
    try:
        made.compose("up", "-d", "--wait", "--no-deps", "shout")
        yield Server(folder, triton.InferenceServerClient(made.compose("port", "shout", "8000").strip()))
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
    with pytest.raises(triton.InferenceServerException, match=r"unknown model|not found|not ready|no available versions"):
        server.ask("is anybody there")
    assert server.client.is_server_ready()
    server.client.load_model("shout")
    assert server.ask("again") == "AGAIN"


def test_the_kits_own_question_about_tensors_is_answered(server: Server) -> None:
    client = target.connect(os.environ)
    try:
        container = target.read(server.folder, os.environ).service("shout").container
        verdict = tensors("shout", partial(asking.inside, client, container, 8000))
    finally:
        client.close()
    assert (verdict.ok, verdict.detail) == (True, "loud BYTES [1, 1]")
