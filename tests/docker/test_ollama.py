"""Two models of Ollama behind the real router and a real HAProxy, brought up by the kit; Ollama itself pretends."""

from __future__ import annotations

import os
from collections.abc import Iterator
from uuid import uuid4

import openai
import pytest

from kit.compose import up
from tests.fakes.cardengine import REAL
from tests.support.walks import Walk, free_port

pytestmark = pytest.mark.docker

MODEL = "  - {{name: {}, engine: ollama, requests: 4, memory: 512MiB, image: 'monogpu/pretend:1', {}}}\n"
MANIFEST = """\
name: {name}
gpu: {{device: none, memory: 4GiB}}
router: {{image: monogpu/smg:1.13.0, haproxy_image: monogpu/haproxy:3.2, port: {port}}}
models:
"""
MODELS = (
    MODEL.format("chat", "source: 'qwen2.5:0.5b', context: 2k"),
    MODEL.format("vectors", "source: 'all-minilm:22m', task: embed"),
)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walk]:
    folder, name, port = tmp_path_factory.mktemp("ollama"), f"ollama-{uuid4().hex[:8]}", free_port()
    (folder / "monogpu.yaml").write_text(MANIFEST.format(name=name, port=port) + "".join(MODELS))
    client = up.connect(os.environ)
    host = os.environ.get("DOCKER_HOST", f"unix://{REAL}")
    made = Walk(name, folder, host, client, port)
    try:
        made.kit("up").good()
        yield made
    finally:
        made.vanish()
        client.close()


@pytest.fixture
def asked(running: Walk) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"http://127.0.0.1:{running.port}/v1", api_key="none") as client:
        yield client


def test_one_ollama_serves_all_its_models_and_nothing_but_the_router_is_published(running: Walk) -> None:
    found = running.containers()
    assert set(found) == {"download-ollama", "ollama", "ollama-proxy", "router"}
    assert {name for name, each in found.items() if each.health == "healthy"} == {"ollama", "ollama-proxy", "router"}


def test_every_name_is_verified_and_answers_openais_client(running: Walk, asked: openai.OpenAI) -> None:
    report = running.kit("verify", "--json").good().json
    assert {("chat", "streams"), ("vectors", "gives vectors")} <= {(c["name"], c["what"]) for c in report["checks"]}
    assert {model.id for model in asked.models.list()} == {"chat", "vectors"}
    answer = asked.chat.completions.create(model="chat", messages=[{"role": "user", "content": "hello"}], max_tokens=4)
    assert (answer.model, len((answer.choices[0].message.content or "").split())) == ("chat", 4)
    frames = asked.chat.completions.create(model="chat", messages=[{"role": "user", "content": "hi"}], stream=True)
    assert "".join(frame.choices[0].delta.content or "" for frame in frames)
    vectors = asked.embeddings.create(model="vectors", input=["a cat", "a price"]).data
    assert [len(each.embedding) for each in vectors] == [32, 32]
    with pytest.raises(openai.NotFoundError):
        asked.chat.completions.create(model="qwen2.5:0.5b", messages=[{"role": "user", "content": "hello"}])


def test_the_door_says_when_ollama_is_gone_and_when_it_is_back(running: Walk, asked: openai.OpenAI) -> None:
    running.compose("stop", "ollama")
    with pytest.raises(openai.APIStatusError) as raised:
        asked.with_options(max_retries=0).chat.completions.create(
            model="chat", messages=[{"role": "user", "content": "hello"}]
        )
    assert raised.value.status_code in (500, 502, 503)
    running.kit("up").good()
