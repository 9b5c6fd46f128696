"""The pretend engine answers as vLLM's API server does: shapes, refusals, streams, adapters, pooling, faults."""

from __future__ import annotations

import base64
import json
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.fakes.pretend.ledger import MIB
from tests.fakes.pretend_gpu import Rig, Worker, pinned

HELLO = [{"role": "user", "content": "hello there"}]
LONG = {"messages": HELLO, "max_tokens": 900, "ignore_eos": True}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    rig = Rig(tmp_path_factory.mktemp("pretend"))
    yield rig
    rig.stop()


@pytest.fixture(scope="module")
def chat(shared: Rig) -> Worker:
    """Two names, two adapters, adapters loadable at run time, an api key."""
    for name, rank in (("code", 8), ("legal", 16), ("wide", 64)):
        adapter(shared.folder, name, rank)
    loras = [f"code={shared.folder}/code", json.dumps({"name": "legal", "path": f"{shared.folder}/legal"})]
    names = ("--served-model-name", "small", "tiny", "--api-key", "sesame", "--enable-sleep-mode")
    env = {"VLLM_ALLOW_RUNTIME_LORA_UPDATING": "1", "VLLM_SERVER_DEV_MODE": "1"}
    worker = shared.start(*pinned(64 * MIB), *names, "--enable-lora", "--lora-modules", *loras, env=env).ready()
    worker.http.headers["Authorization"] = "Bearer sesame"
    return worker


@pytest.fixture(scope="module")
def embedder(shared: Rig) -> Worker:
    return shared.start(*pinned(64 * MIB), "--runner", "pooling", "--convert", "embed").ready()


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


def test_models_lists_served_names_and_adapters(chat: Worker) -> None:
    cards = chat.http.get("/v1/models").json()["data"]
    assert [(card["id"], card["parent"], card["owned_by"]) for card in cards] == [
        ("small", None, "vllm"),
        ("tiny", None, "vllm"),
        ("code", "small", "vllm"),
        ("legal", "small", "vllm"),
    ]
    assert (cards[0]["max_model_len"], cards[0]["root"]) == (1024, "HuggingFaceTB/SmolLM2-135M-Instruct")


def test_a_chat_answer_has_openais_fields(chat: Worker) -> None:
    answer = ask(chat, "/v1/chat/completions", model="tiny", messages=HELLO, max_tokens=3).json()
    choice = answer["choices"][0]
    assert answer["id"].startswith("chatcmpl-")
    assert (answer["object"], answer["model"]) == ("chat.completion", "small")
    assert (choice["message"]["role"], choice["finish_reason"]) == ("assistant", "length")
    assert len(choice["message"]["content"].split()) == 3
    assert answer["usage"] == {
        "prompt_tokens": 4,
        "total_tokens": 7,
        "completion_tokens": 3,
        "prompt_tokens_details": None,
    }


def test_an_answer_depends_on_the_name_and_on_nothing_else(chat: Worker) -> None:
    def say(name: str) -> str:
        answer = ask(chat, "/v1/chat/completions", model=name, messages=HELLO, max_tokens=20).json()
        return str(answer["choices"][0]["message"]["content"])

    assert say("small") == say("small") == say("tiny")
    assert len({say("small"), say("code"), say("legal")}) == 3


def test_a_stream_is_role_tokens_usage_and_done(chat: Worker) -> None:
    body = {"messages": HELLO, "max_tokens": 3, "stream": True, "stream_options": {"include_usage": True}}
    response = ask(chat, "/v1/chat/completions", model="code", **body)
    assert response.headers["content-type"].startswith("text/event-stream")
    first, *tokens, usage, done = events(response)
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert [one["choices"][0]["finish_reason"] for one in tokens] == [None, None, "length"]
    assert {one["object"] for one in (first, *tokens, usage)} == {"chat.completion.chunk"}
    assert {one["model"] for one in (first, *tokens, usage)} == {"code"}
    assert (usage["choices"], usage["usage"]["completion_tokens"], done) == ([], 3, "[DONE]")
    whole = ask(chat, "/v1/chat/completions", model="code", messages=HELLO, max_tokens=3).json()
    streamed = "".join(one["choices"][0]["delta"]["content"] for one in tokens)
    assert streamed == whole["choices"][0]["message"]["content"]


def test_completions_take_text_texts_and_token_ids(chat: Worker) -> None:
    two = ask(chat, "/v1/completions", model="small", prompt=["one", "two"], max_tokens=2).json()
    assert (two["object"], [choice["index"] for choice in two["choices"]]) == ("text_completion", [0, 1])
    ids = ask(chat, "/v1/completions", model="small", prompt=[5, 6, 7]).json()
    assert (ids["usage"]["prompt_tokens"], ids["usage"]["completion_tokens"]) == (3, 16)
    *tokens, _done = events(ask(chat, "/v1/completions", model="small", prompt="one", max_tokens=2, stream=True))
    assert "".join(one["choices"][0]["text"] for one in tokens) == two["choices"][0]["text"]


def test_an_unknown_name_is_404_in_vllms_shape(chat: Worker) -> None:
    response = ask(chat, "/v1/chat/completions", model="nobody", messages=HELLO)
    message = "The model `nobody` does not exist."
    assert response.status_code == 404
    assert response.json() == {"error": {"message": message, "type": "NotFoundError", "param": "model", "code": 404}}


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        (
            "/v1/chat/completions",
            {"messages": [{"role": "user", "content": "a " * 2000}]},
            "maximum context length is 1024",
        ),
        ("/v1/chat/completions", {"messages": HELLO, "max_tokens": 1024}, "you requested 1024 output tokens"),
        ("/v1/chat/completions", {"messages": HELLO, "max_tokens": 0}, "max_tokens must be at least 1"),
        ("/v1/chat/completions", {}, "Field required"),
        ("/v1/chat/completions", {"messages": HELLO, "tools": [{}]}, '"auto" tool choice requires'),
        ("/v1/completions", {}, "Either prompt or prompt_embeds must be provided"),
    ],
)
def test_a_bad_request_is_400(chat: Worker, path: str, body: dict[str, Any], said: str) -> None:
    response = ask(chat, path, **body)
    assert response.status_code == 400
    assert said in response.json()["error"]["message"]


def test_a_required_tool_is_called(chat: Worker) -> None:
    tools = [{"type": "function", "function": {"name": "look", "parameters": {}}}]
    body = {"messages": HELLO, "tools": tools, "tool_choice": "required"}
    choice = ask(chat, "/v1/chat/completions", **body).json()["choices"][0]
    assert (choice["finish_reason"], choice["message"]["tool_calls"][0]["function"]["name"]) == ("tool_calls", "look")


def test_the_api_key_guards_v1_alone(chat: Worker) -> None:
    with httpx.Client(base_url=chat.http.base_url) as stranger:
        assert stranger.get("/v1/models").status_code == 401
        assert stranger.get("/v1/models", headers={"Authorization": "Bearer wrong"}).json() == {"error": "Unauthorized"}
        assert [stranger.get(path).status_code for path in ("/health", "/version", "/metrics", "/load")] == [200] * 4
        assert stranger.get("/nowhere").status_code == 404


def test_metrics_say_what_the_log_says(chat: Worker) -> None:
    text = chat.http.get("/metrics").text
    blocks = re.search(r'vllm:cache_config_info\{[^}]*num_gpu_blocks="(\d+)"', text)
    tokens = re.search(r"GPU KV cache size: ([\d,]+) tokens", chat.text)
    assert blocks and tokens
    assert int(blocks[1]) * 16 == int(tokens[1].replace(",", ""))
    for name in ("num_requests_running", "num_requests_waiting", "kv_cache_usage_perc", "generation_tokens_total"):
        assert re.search(rf'^vllm:{name}\{{engine="0",model_name="small"\}} [\d.]+$', text, re.MULTILINE)
    assert 'vllm:lora_requests_info{max_lora="1"' in text


def test_adapters_come_and_go_at_run_time(chat: Worker, shared: Rig) -> None:
    adapter(shared.folder, "late", 8)
    assert ask(chat, "/v1/load_lora_adapter", lora_name="late", lora_path=f"{shared.folder}/late").status_code == 200
    assert ask(chat, "/v1/chat/completions", model="late", messages=HELLO).status_code == 200
    assert ask(chat, "/v1/load_lora_adapter", lora_name="x", lora_path="/nowhere").status_code == 404
    assert (
        "greater than max_lora_rank 16"
        in ask(chat, "/v1/load_lora_adapter", lora_name="wide", lora_path=f"{shared.folder}/wide").text
    )
    assert ask(chat, "/v1/unload_lora_adapter", lora_name="late").status_code == 200
    assert ask(chat, "/v1/chat/completions", model="late", messages=HELLO).status_code == 404


def test_sleep_gives_memory_back_and_requests_wait(chat: Worker, shared: Rig) -> None:
    before = shared.held_by(chat).bytes
    assert chat.http.post("/sleep?level=1").status_code == 200
    assert chat.http.get("/is_sleeping").json() == {"is_sleeping": True}
    assert shared.held_by(chat).bytes < before - 64 * MIB
    assert chat.http.get("/health").status_code == 200
    with pytest.raises(httpx.ReadTimeout):
        chat.http.post("/v1/completions", json={"prompt": "one"}, timeout=0.2)
    chat.http.post("/wake_up")
    assert ask(chat, "/v1/completions", prompt="one").status_code == 200


def test_an_embedder_embeds_and_does_not_chat(embedder: Worker) -> None:
    texts = ["small cats sleep", "small dogs sleep", "markets fell today"]
    data = ask(embedder, "/v1/embeddings", input=texts).json()["data"]
    cat, dog, market = (one["embedding"] for one in data)
    assert len(cat) == 576
    assert _dot(cat, cat) == pytest.approx(1)
    assert _dot(cat, dog) > _dot(cat, market) + 0.3
    packed = ask(embedder, "/v1/embeddings", input=texts[0], encoding_format="base64").json()["data"][0]["embedding"]
    assert struct.unpack("<576f", base64.b64decode(packed)) == pytest.approx(cat, abs=1e-6)
    assert ask(embedder, "/v1/chat/completions", messages=HELLO).status_code == 404
    assert ask(embedder, "/v1/embeddings", input="x", model="nobody").status_code == 404


def _dot(left: list[float], right: list[float]) -> float:
    return sum(a * b for a, b in zip(left, right, strict=True))


def test_a_reranker_puts_the_answer_first(rig: Rig) -> None:
    worker = rig.start(*pinned(64 * MIB), "--runner", "pooling", "--convert", "classify").ready()
    body = {"query": "capital of France", "documents": ["bread recipes", "Paris is the capital of France"], "top_n": 1}
    for path in ("/rerank", "/v1/rerank", "/v2/rerank"):
        results = ask(worker, path, **body).json()["results"]
        assert [one["index"] for one in results] == [1]
    scores = ask(worker, "/score", text_1="capital of France", text_2=body["documents"]).json()["data"]
    assert scores[0]["score"] < scores[1]["score"]
    assert ask(worker, "/v1/embeddings", input="x").status_code == 404
