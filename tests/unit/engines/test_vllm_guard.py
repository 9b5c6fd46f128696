"""The guard of a vLLM worker: what makes it larger for good is answered with 400, all else passes untouched."""

from __future__ import annotations

import asyncio
import json
from collections.abc import MutableMapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.engines import vllm
from kit.engines.vllm_container import GUARD
from kit.engines.vllm_guard import Guard, refused
from kit.manifest.model import Limits
from kit.memory.bill import Share
from tests.support.strategies import model, plan, share

Message = MutableMapping[str, Any]

REFUSED: dict[str, tuple[bytes, str]] = {
    "prompt": (b'{"model": "chat", "prompt_logprobs": 1}', "prompt_logprobs"),
    "none of them, but its own": (b'{"model": "chat", "prompt_logprobs": 0}', "prompt_logprobs"),
    "all": (b'{"prompt_logprobs": -1}', "prompt_logprobs"),
    "spelt in escapes": (b'{"prompt\\u005flogprobs": 1}', "prompt_logprobs"),
    "another encoding": ('{"prompt_logprobs": 1}'.encode("utf-16"), "prompt_logprobs"),
    "four bytes a letter": ('{"prompt_logprobs": 1}'.encode("utf-32"), "prompt_logprobs"),
    "token in, token out": (b'{"sampling_params": {"prompt_logprobs": 2}}', "prompt_logprobs"),
    "echo of a completion": (b'{"echo": true, "logprobs": 5}', "echo"),
    "echo with the sampled alone": (b'{"echo": true, "logprobs": 0}', "echo"),
    "echo of a chat": (b'{"echo": true, "logprobs": true, "top_logprobs": 2}', "echo"),
    "echo of a chat that says nothing of them": (b'{"messages": [], "echo": true}', "echo"),
    "said twice": (b'{"prompt_logprobs": null, "prompt_logprobs": 1}', "prompt_logprobs"),
}
PASSED = {
    "a chat": b'{"model": "chat", "messages": []}',
    "log probabilities of the answer": b'{"logprobs": true, "top_logprobs": 5}',
    "an echo alone": b'{"prompt": "a", "echo": true}',
    "an echo that is off": b'{"echo": false, "logprobs": 5}',
    "null": b'{"prompt_logprobs": null}',
    "said in the text": b'{"messages": [{"content": "what is prompt_logprobs? echo"}]}',
    "a list": b'[{"prompt_logprobs": 1}]',
    "no JSON": b"prompt_logprobs=1",
    "broken": b'{"prompt_logprobs": ',
    "broken UTF-8": b'{"prompt_logprobs": "\xff"}',
    "empty": b"",
    "deep": b"\\u" + b"[" * 100_000,
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_takes_memory_for_good_is_refused(name: str) -> None:
    body, field = REFUSED[name]
    assert refused(body) == field


@pytest.mark.parametrize("name", PASSED)
def test_everything_else_passes(name: str) -> None:
    assert refused(PASSED[name]) is None


@given(st.binary(max_size=200))
def test_no_body_breaks_it(body: bytes) -> None:
    refused(body)


class Asked:
    """One request through the guard: its body in pieces, and what came back, and what the application saw."""

    def __init__(self, *pieces: bytes, method: str = "POST", kind: str = "http") -> None:
        self.sent: list[Message] = []
        self.seen: list[Message] = []
        waiting: list[Message] = [
            {"type": "http.request", "body": piece, "more_body": number + 1 < len(pieces)}
            for number, piece in enumerate(pieces)
        ]
        waiting.append({"type": "http.disconnect"})

        async def receive() -> Message:
            return waiting.pop(0)

        async def send(message: Message) -> None:
            self.sent.append(message)

        async def application(scope: Message, receive: Any, send: Any) -> None:
            for _ in range(len(pieces) + 1):
                self.seen.append(await receive())
            await send({"type": "http.response.start", "status": 200})

        asyncio.run(Guard(application)({"type": kind, "method": method}, receive, send))


def test_the_answer_is_an_error_as_clients_of_openai_read_it() -> None:
    asked = Asked(b'{"model": "chat", "prompt', b'_logprobs": 1}')
    start, body = asked.sent
    assert (start["status"], asked.seen) == (400, [])
    error = json.loads(body["body"])["error"]
    assert (error["param"], error["code"], error["type"]) == ("prompt_logprobs", 400, "BadRequestError")
    assert "the model chat does not serve prompt_logprobs" in error["message"]
    assert "limits: {prompt_logprobs: true}" in error["message"]
    assert dict(start["headers"])[b"content-length"] == str(len(body["body"])).encode()


def test_what_passes_is_what_was_sent_and_that_a_client_left_is_seen() -> None:
    asked = Asked(b'{"messages"', b": []}")
    assert [one.get("body") for one in asked.seen] == [b'{"messages"', b": []}", None]
    assert asked.seen[-1]["type"] == "http.disconnect" and asked.sent[0]["status"] == 200


@pytest.mark.parametrize(("method", "kind"), [("GET", "http"), ("POST", "websocket")])
def test_what_has_no_body_is_not_read(method: str, kind: str) -> None:
    assert Asked(b'{"prompt_logprobs": 1}', method=method, kind=kind).sent[0]["status"] == 200


def environment(one: Share) -> dict[str, object]:
    return dict(vllm.service(one, plan(one)).environment)


def test_a_worker_that_generates_is_guarded_unless_the_bytes_are_planned() -> None:
    one = share()
    service = vllm.service(one, plan(one))
    at = service.command.index("--middleware")
    assert service.command[at + 1] == "vllm_guard.Guard" and environment(one)["PYTHONPATH"] == "/etc/monogpu"
    assert [(file.path, file.text) for file in vllm.files(one, plan(one))] == [("vllm/vllm_guard.py", GUARD)]
    for other in (share(model(limits=Limits(prompt_logprobs=True))), share(model(task="embed"))):
        bare = vllm.service(other, plan(other))
        assert "--middleware" not in bare.command and "PYTHONPATH" not in environment(other)
        assert vllm.files(other, plan(other)) == () and all(m.target != "/etc/monogpu" for m in bare.mounts)


def test_a_python_path_of_the_user_comes_behind() -> None:
    assert environment(share(model(env={"PYTHONPATH": "/mine"})))["PYTHONPATH"] == "/etc/monogpu:/mine"
    (found,) = [why for path, why in vllm.refused([(0, model(env={"PYTHONPATH": "${MINE}"}))])]
    assert "write the folders themselves" in found.needed
