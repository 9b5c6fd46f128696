"""/v1/chat/completions and /v1/completions: whole answers, streams, usage, refusals."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from typing import Any

from .engine import Engine, EngineDeadError
from .replies import ApiError, Body, Reply, dead, field_missing, frame, reply_json, unknown_model
from .words import Job, compose, pieces

NO_TEMPLATE = (
    "As of transformers v4.44, default chat template is no longer allowed, so you must provide a chat template if the "
    "tokenizer does not define one."
)
NO_TOOL_PARSER = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'


def chat(engine: Engine, body: Body) -> Reply:
    if "messages" not in body:
        raise field_missing("messages")
    if not engine.knows(body.get("model")):
        raise unknown_model(str(body["model"]))
    if engine.fault.name == "no-chat-template" or not engine.shape.chat_template:
        raise ApiError(NO_TEMPLATE)
    _check_tools(engine, body)
    prompt = "\n".join(f"{message.get('role')}: {_text(message.get('content'))}" for message in body["messages"])
    limit = body.get("max_completion_tokens") or body.get("max_tokens")
    jobs = _jobs(engine, body, [prompt], limit)
    return _answer(engine, body, jobs, Chat(body, engine.answer_name(body.get("model"))))


def completions(engine: Engine, body: Body) -> Reply:
    if not engine.knows(body.get("model")):
        raise unknown_model(str(body["model"]))
    if body.get("prompt") is None:
        raise ApiError("Either prompt or prompt_embeds must be provided and non-empty.")
    jobs = _jobs(engine, body, _prompts(body["prompt"]), body.get("max_tokens", 16))
    return _answer(engine, body, jobs, Completion(body, engine.answer_name(body.get("model"))))


def _prompts(prompt: Any) -> list[str]:
    """Text, texts, token ids or lists of token ids."""
    if isinstance(prompt, str):
        return [prompt]
    if all(isinstance(one, int) for one in prompt):
        return [" ".join(map(str, prompt))]
    return [one if isinstance(one, str) else " ".join(map(str, one)) for one in prompt]


def _text(content: Any) -> str:
    if isinstance(content, list):
        return " ".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return str(content or "")


def _jobs(engine: Engine, body: Body, prompts: list[str], limit: int | None) -> list[Job]:
    name = engine.answer_name(body.get("model"))
    jobs = []
    for prompt in prompts:
        used = max(1, len(pieces(prompt)))
        room = engine.cache.max_model_len - used
        if limit is not None and (not isinstance(limit, int) or limit < 1):
            raise ApiError(f"max_tokens must be at least 1, got {limit}.", param="max_tokens")
        if room < (limit or 1):
            raise _too_long(engine.cache.max_model_len, limit or 0, used)
        for index in range(body.get("n") or 1):
            endless = bool(body.get("ignore_eos"))
            jobs.append(compose(name, prompt, limit or room, used, index, endless))
    return jobs


def _too_long(length: int, output: int, used: int) -> ApiError:
    text = (
        f"This model's maximum context length is {length} tokens. However, you requested {output} output tokens and "
        f"your prompt contains {used} input tokens, for a total of {used + output} tokens. Please reduce the length "
        "of the input prompt or the number of requested output tokens."
    )
    return ApiError(text, param="input_tokens")


def _check_tools(engine: Engine, body: Body) -> None:
    if body.get("tools") and body.get("tool_choice", "auto") == "auto" and not engine.args.auto_tools:
        raise ApiError(NO_TOOL_PARSER)


class Chat:
    """The shape of chat answers."""

    def __init__(self, body: Body, name: str) -> None:
        self.head = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(time.time()), "model": name}
        self.tool = _called_tool(body)
        self.reason = "tool_calls" if body.get("tool_choice") == "required" else "stop" if self.tool else None
        self.tool_told = False

    def whole(self, choices: list[tuple[str, str]], usage: Body) -> Body:
        made = [self._choice(at, text, reason) for at, (text, reason) in enumerate(choices)]
        return {**self.head, "object": "chat.completion", "choices": made, "usage": usage}

    def _choice(self, index: int, text: str, reason: str) -> Body:
        ending = {"logprobs": None, "finish_reason": self.reason or reason, "stop_reason": None}
        return {"index": index, "message": self._message(text), **ending}

    def _message(self, text: str) -> Body:
        message: Body = {"role": "assistant", "content": text, "refusal": None, "reasoning": None}
        return {**message, "content": None, "tool_calls": [self.tool]} if self.tool else message

    def opening(self, index: int) -> Body | None:
        return self._chunk(index, {"role": "assistant", "content": ""}, None)

    def piece(self, index: int, text: str, reason: str | None) -> Body:
        if self.tool is None:
            return self._chunk(index, {"content": text}, reason)
        delta: Body = {} if self.tool_told else {"tool_calls": [{"index": 0, **self.tool}]}
        self.tool_told = True
        return self._chunk(index, delta, reason and self.reason)

    def _chunk(self, index: int, delta: Body, reason: str | None) -> Body:
        choice: Body = {"index": index, "delta": delta, "logprobs": None, "finish_reason": reason}
        if reason:
            choice["stop_reason"] = None
        return {**self.head, "object": "chat.completion.chunk", "choices": [choice]}

    def closing(self, usage: Body) -> Body:
        return {**self.head, "object": "chat.completion.chunk", "choices": [], "usage": usage}


class Completion:
    """The shape of text completions."""

    def __init__(self, body: Body, name: str) -> None:
        head = {"id": f"cmpl-{uuid.uuid4().hex}", "object": "text_completion", "created": int(time.time())}
        self.head: Body = {**head, "model": name}

    def whole(self, choices: list[tuple[str, str]], usage: Body) -> Body:
        made = [self._choice(at, text, reason) for at, (text, reason) in enumerate(choices)]
        return {**self.head, "choices": made, "usage": usage}

    def opening(self, index: int) -> Body | None:
        return None

    def piece(self, index: int, text: str, reason: str | None) -> Body:
        return {**self.head, "choices": [self._choice(index, text, reason)]}

    def _choice(self, index: int, text: str, reason: str | None) -> Body:
        return {"index": index, "text": text, "logprobs": None, "finish_reason": reason, "stop_reason": None}

    def closing(self, usage: Body) -> Body:
        return {**self.head, "choices": [], "usage": usage}


def _called_tool(body: Body) -> Body | None:
    """A named or required tool is called with what its schema requires: the first allowed value, else a text."""
    choice, tools = body.get("tool_choice"), body.get("tools")
    if not tools or choice in (None, "auto", "none"):
        return None
    function = choice["function"] if isinstance(choice, dict) else tools[0]["function"]
    schema = function.get("parameters") or {}
    fields = schema.get("properties") or {}
    given = {name: (fields.get(name, {}).get("enum") or ["text"])[0] for name in schema.get("required") or ()}
    call = {"name": function["name"], "arguments": json.dumps(given)}
    return {"id": f"chatcmpl-tool-{uuid.uuid4().hex}", "type": "function", "function": call}


def _answer(engine: Engine, body: Body, jobs: list[Job], shape: Chat | Completion) -> Reply:
    if body.get("stream"):
        return Reply(content_type="text/event-stream; charset=utf-8", events=_events(engine, body, jobs, shape))
    if engine.fault.name == "stream-error":
        raise ApiError("Internal server error", 500, "InternalServerError")
    try:
        choices = [_finish(engine, job) for job in jobs]
    except EngineDeadError as error:
        raise dead() from error
    return reply_json(shape.whole(choices, _usage(jobs, body)))


def _finish(engine: Engine, job: Job) -> tuple[str, str]:
    made = list(engine.run(job))
    return "".join(text for text, _ in made), made[-1][1] or "stop"


def _usage(jobs: list[Job], body: Body) -> Body:
    """A prompt counts once, however many answers it gets."""
    prompt = sum(job.prompt_tokens for job in jobs) // (body.get("n") or 1)
    made = sum(len(job.tokens) for job in jobs)
    counts = {"prompt_tokens": prompt, "total_tokens": prompt + made, "completion_tokens": made}
    return {**counts, "prompt_tokens_details": None}


def _events(engine: Engine, body: Body, jobs: list[Job], shape: Chat | Completion) -> Iterator[str]:
    try:
        for index, job in enumerate(jobs):
            if (opening := shape.opening(index)) is not None:
                yield frame(opening)
            for at, (text, reason) in enumerate(engine.run(job)):
                if at == 1 and engine.fault.name == "stream-error":
                    raise EngineDeadError
                yield frame(shape.piece(index, text, reason))
        if (body.get("stream_options") or {}).get("include_usage"):
            yield frame(shape.closing(_usage(jobs, body)))
    except EngineDeadError:
        yield frame(dead().body)
    yield frame("[DONE]")
