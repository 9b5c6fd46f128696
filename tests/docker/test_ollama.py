"""Two models of Ollama behind the real router and a real HAProxy, brought up by the kit; Ollama itself pretends."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import openai
import pytest

from kit.compose import up
from tests.fakes.cardengine import REAL
from tests.support.walks import Walk, ended, free_port, soon

pytestmark = pytest.mark.docker

MODEL = "  - {{name: {}, engine: ollama, requests: 4, memory: 512MiB, image: 'monogpu/pretend:1', {}}}\n"
MANIFEST = """\
name: {name}
gpu: {{device: none, memory: 4GiB}}
router: {{image: monogpu/smg:1.13.0, haproxy_image: monogpu/haproxy:3.2, port: {port}}}
models:
"""
CHANGED = "env: {OLLAMA_DEBUG: '1'}"
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


def test_up_waits_for_ollamas_open_requests_before_it_replaces_it(running: Walk, asked: openai.OpenAI) -> None:
    """Ollama does not count its requests; its connections do. The pretend one drops what is open when it ends."""

    def ask(seconds: int) -> float:
        prompt = [{"role": "user", "content": f"wait {seconds} s"}]
        answer = asked.with_options(max_retries=0).chat.completions.create(model="chat", messages=prompt)  # type: ignore[call-overload]
        assert answer.choices[0].message.content
        return time.time()

    before = running.containers()["ollama"].id
    manifest = running.folder / "monogpu.yaml"
    manifest.write_text(manifest.read_text().replace("requests: 4,", f"requests: 4, {CHANGED},"))
    with ThreadPoolExecutor(3) as pool:
        answers = [pool.submit(ask, seconds) for seconds in (40, 42, 44)]
        soon(lambda: open_requests(running) == 3)
        up = running.begin("up")
        soon(lambda: '"chat.ollama"' not in (running.folder / "smg" / "workers.json").read_text())
        assert open_requests(running) == 3, "none was open any more when the router drained it"
        answered = max(answer.result() for answer in answers)
    ended(up).good()
    now = running.containers()["ollama"]
    assert now.id != before
    assert now.started and now.started.timestamp() >= answered - 1
    assert open_requests(running) == 0
    assert ask(0)


def open_requests(at: Walk) -> int:
    found = {one["service"]: one for one in at.kit("status", "--json").json["services"]}
    count: int = found["ollama"]["running"]
    return count
