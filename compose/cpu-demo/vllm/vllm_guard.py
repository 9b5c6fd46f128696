"""Answers requests that would make a vLLM worker larger for good. Printed by monogpu-kit, and run inside the worker as
vLLM's `--middleware vllm_guard.Guard`.

The log probability of every token of a prompt takes batched tokens x vocabulary x 2 to 10 bytes on the card, which the
worker never gives back: 0.6 to 4.7 GiB, measured. On a card that is planned to the byte this ends the worker or its
neighbour. So such a request is answered with 400, as OpenAI's API words it, before the engine sees it; the manifest's
`limits: {prompt_logprobs: true}` has the bytes planned, and this file is then left out.

Standard library only. Every other request passes untouched, and so does what streams back.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]

# What a body that must be read has in it. JSON may write a letter as \\u0065, and may be UTF-16 or UTF-32.
_SIGNS = (b"prompt_logprobs", b"echo", b"\\u", b"\0")


class Guard:
    """ASGI middleware."""

    def __init__(self, app: Application) -> None:
        self.app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            return await self.app(scope, receive, send)
        messages, body = await _read(receive)
        if (field := refused(body)) is not None:
            return await _answer(send, field, body)
        return await self.app(scope, _replayed(messages, receive), send)


def refused(body: bytes) -> str | None:
    """The field of a request that asks for log probabilities of its prompt; None where none does."""
    if not any(sign in body for sign in _SIGNS):
        return None
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return _field(asked) if isinstance(asked, dict) else None


def _field(asked: dict[str, Any]) -> str | None:
    inner = asked.get("sampling_params")
    for part in (asked, inner if isinstance(inner, dict) else {}):
        if part.get("prompt_logprobs") is not None:
            return "prompt_logprobs"
    # vLLM takes a chat's top_logprobs, which are 0 where it has none, for its prompt too; a completion's are logprobs.
    said = [asked.get(key) for key in ("logprobs", "top_logprobs")]
    if asked.get("echo") and ("messages" in asked or any(one is not None and one is not False for one in said)):
        return "echo"
    return None


async def _read(receive: Receive) -> tuple[list[Message], bytes]:
    """The whole body, and the messages that it came in."""
    messages: list[Message] = []
    while True:
        message = await receive()
        messages.append(message)
        if message["type"] != "http.request" or not message.get("more_body", False):
            return messages, b"".join(one.get("body", b"") for one in messages)


def _replayed(messages: list[Message], receive: Receive) -> Receive:
    """The messages once more, then whatever comes: that the client left, for one."""
    waiting = iter(messages)

    async def replay() -> Message:
        for message in waiting:
            return message
        return await receive()

    return replay


async def _answer(send: Send, field: str, body: bytes) -> None:
    name = json.loads(body).get("model")
    what = "prompt_logprobs" if field == "prompt_logprobs" else "echo with log probabilities"
    needed = "leave it out, or plan its memory: `limits: {prompt_logprobs: true}` of this model in monogpu.yaml"
    said = f"the model {name!s:.80} does not serve {what}, which takes memory that was not planned: {needed}"
    error = {"message": said, "type": "BadRequestError", "param": field, "code": 400}
    data = json.dumps({"error": error}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(data)).encode())]
    await send({"type": "http.response.start", "status": 400, "headers": headers})
    await send({"type": "http.response.body", "body": data})
