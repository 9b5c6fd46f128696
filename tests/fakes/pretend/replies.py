"""What a request ends in: a status with a JSON body, plain text, or a stream of server-sent events."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Body = dict[str, Any]


@dataclass(frozen=True)
class Reply:
    """`events` (each a whole `data: ...` frame) replaces `body`."""

    status: int = 200
    body: str = ""
    content_type: str = "application/json"
    events: Iterator[str] | None = None


class ApiError(Exception):
    """A request refused, in vLLM's shape."""

    def __init__(
        self, message: str, status: int = 400, kind: str = "BadRequestError", param: str | None = None
    ) -> None:
        super().__init__(message)
        self.message, self.status, self.kind, self.param = message, status, kind, param

    @property
    def body(self) -> Body:
        return {"error": {"message": self.message, "type": self.kind, "param": self.param, "code": self.status}}


def reply_json(body: Any, status: int = 200) -> Reply:
    return Reply(status, json.dumps(body, ensure_ascii=False, separators=(",", ":")))


def reply_text(text: str, content_type: str = "text/plain; charset=utf-8") -> Reply:
    return Reply(200, text, content_type)


def frame(body: Any) -> str:
    text = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return f"data: {text}\n\n"


def unknown_model(name: str) -> ApiError:
    return ApiError(f"The model `{name}` does not exist.", 404, "NotFoundError", "model")


def dead() -> ApiError:
    text = "EngineCore encountered an issue. See stack trace (above) for the root cause."
    return ApiError(text, 500, "InternalServerError")


def field_missing(name: str) -> ApiError:
    entry = {"type": "missing", "loc": ("body", name), "msg": "Field required", "input": {}}
    return ApiError(f"1 validation error:\n  {entry}", 400, "Bad Request", name)
