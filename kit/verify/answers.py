"""Taking answers apart that may hold anything. Pure; nothing raises."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from kit.errors import printable

SHOWN = 120  # characters of an answer that are repeated


def error(answer: object) -> str:
    """The error in an answer, whatever its status; "" without one."""
    found = dig(answer, "error")
    return str(dig(found, "message") or found) if found else ""


def decoded(body: bytes) -> str:
    """Text, whatever the bytes."""
    return body.decode("utf-8", "replace")


def json_of(text: str) -> Any:
    """None for what is no JSON: `null` is no answer either."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def dig(value: Any, *path: str | int) -> Any:
    """What lies at `path`, None when it is not there."""
    for step in path:
        if isinstance(step, int) and isinstance(value, list) and len(value) > step:
            value = value[step]
        elif isinstance(step, str) and isinstance(value, dict):
            value = value.get(step)
        else:
            return None
    return value


def first_text(message: Mapping[str, Any], *keys: str) -> str:
    """The first of `keys` that holds text, "" when none does."""
    return next((message[key] for key in keys if isinstance(message.get(key), str) and message[key]), "")


def short(value: object) -> str:
    """On one line, harmless in a terminal, and not too long."""
    text = printable(" ".join(str(value).split()))
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
