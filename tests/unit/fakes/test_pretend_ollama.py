"""The pretend Ollama, asked by Ollama's own Python client, and started by the script that the kit prints."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import ollama
import pytest

from tests.support.paths import FAKES
from tests.support.walks import free_port


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ollama.Client]:
    port = free_port()
    env = {**os.environ, "OLLAMA_HOST": f"127.0.0.1:{port}", "HOME": str(tmp_path_factory.mktemp("ollama"))}
    env |= {"PYTHONPATH": str(FAKES), "OLLAMA_MAX_LOADED_MODELS": "2"}
    server = subprocess.Popen([sys.executable, "-m", "pretend_ollama", "serve"], env=env, stdout=subprocess.DEVNULL)
    try:
        yield _ready(ollama.Client(f"http://127.0.0.1:{port}", trust_env=False))
    finally:
        server.terminate()
        server.wait()


def _ready(client: ollama.Client) -> ollama.Client:
    for _ in range(200):
        try:
            client.list()
        except (httpx.HTTPError, ConnectionError):
            time.sleep(0.05)
        else:
            break
    assert client.list().models == []
    return client


def test_a_pull_tells_how_far_it_is_and_the_model_is_listed(client: ollama.Client) -> None:
    told = [each.status for each in client.pull("qwen2.5:0.5b", stream=True)]
    assert told[0] == "pulling manifest" and told[-1] == "success"
    assert [model.model for model in client.list().models] == ["qwen2.5:0.5b"]
    with pytest.raises(ollama.ResponseError, match="file does not exist"):
        client.pull("missing-model")


def test_a_created_model_has_the_name_and_the_context_that_were_given(client: ollama.Client) -> None:
    client.pull("qwen2.5:0.5b")
    client.create("chat", from_="qwen2.5:0.5b", parameters={"num_ctx": 2048})
    assert "num_ctx" in str(client.show("chat").parameters)
    client.chat("chat", [{"role": "user", "content": "hello"}])
    assert {model.model: model.context_length for model in client.ps().models}["chat:latest"] == 2048


def test_it_chats_generates_and_embeds(client: ollama.Client) -> None:
    client.pull("all-minilm:22m")
    whole = client.chat("all-minilm:22m", [{"role": "user", "content": "hello"}])
    pieces = client.chat("all-minilm:22m", [{"role": "user", "content": "hello"}], stream=True)
    assert whole.message.content and "".join(piece.message.content or "" for piece in pieces) == whole.message.content
    assert client.generate("all-minilm:22m", "Once", options={"num_predict": 3}).eval_count == 3
    one, other = client.embed("all-minilm:22m", ["a cat", "a price"]).embeddings
    assert len(one) == len(other) and list(one) != list(other)


def test_a_model_that_nobody_pulled_is_unknown_and_there_is_no_health(client: ollama.Client) -> None:
    with pytest.raises(ollama.ResponseError) as raised:
        client.chat("nobody", [{"role": "user", "content": "hello"}])
    assert raised.value.status_code == 404
    base = str(client._client.base_url)
    assert httpx.get(f"{base}/health", trust_env=False).status_code == 404


def test_the_printed_script_pulls_names_and_ends_and_a_second_run_pulls_nothing(tmp_path: Path) -> None:
    from kit.engines.ollama import _PULL

    program = tmp_path / "bin" / "ollama"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m pretend_ollama "$@"\n')
    program.chmod(0o755)
    (tmp_path / "chat.modelfile").write_text("# a comment\nFROM qwen2.5:0.5b\nPARAMETER num_ctx 2048\n")
    env = {"PATH": f"{program.parent}:{os.environ['PATH']}", "HOME": str(tmp_path), "PYTHONPATH": str(FAKES)}
    env["OLLAMA_HOST"] = f"127.0.0.1:{free_port()}"
    script = _PULL.replace("/etc/ollama", str(tmp_path))

    def run(source: str) -> subprocess.CompletedProcess[str]:
        argv = ["/bin/sh", "-c", script, "pull", "chat", source]
        return subprocess.run(argv, env=env, capture_output=True, text=True, timeout=60)

    first, second, wrong = run("qwen2.5:0.5b"), run("qwen2.5:0.5b"), run("missing:1b")
    assert (first.returncode, first.stdout.count("pulling manifest")) == (0, 1), first.stderr
    assert (second.returncode, second.stdout.count("pulling manifest")) == (0, 0), second.stderr
    assert wrong.returncode and "file does not exist" in wrong.stderr
