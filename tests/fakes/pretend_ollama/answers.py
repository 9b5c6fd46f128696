"""What a model says, and the objects in which it is said."""

from __future__ import annotations

import hashlib
import time
from typing import Any

from .store import Made

WORDS = [
    "the",
    "model",
    "of",
    "a",
    "small",
    "card",
    "says",
    "that",
    "Paris",
    "is",
    "where",
    "rivers",
    "meet",
    "and",
    "bread",
    "is",
    "good",
]
SIZE = 397821319


def words(made: Made, prompt: str, most: int) -> list[str]:
    """The same prompt always gets the same words; each begins with its space, as tokens do."""
    seed = hashlib.sha256(f"{made.origin} {prompt}".encode()).digest()
    return [f" {WORDS[byte % len(WORDS)]}" for byte in seed][: max(min(most, 16), 1)]


def vector(made: Made, text: str) -> list[float]:
    raw = [byte - 127.5 for byte in hashlib.sha256(f"{made.origin} {text}".encode()).digest()]
    length = sum(x * x for x in raw) ** 0.5
    return [x / length for x in raw]


def details(made: Made) -> dict[str, Any]:
    return {
        "parent_model": made.origin, "format": "gguf", "family": "pretend", "families": ["pretend"],
        "parameter_size": "494.03M", "quantization_level": "Q4_K_M",
    }  # fmt: skip


def listed(made: Made) -> dict[str, Any]:
    """One entry of /api/tags."""
    return {
        "name": made.name, "model": made.name, "modified_at": made.modified, "size": SIZE, "digest": made.digest,
        "details": details(made),
    }  # fmt: skip


def running(made: Made, context: int) -> dict[str, Any]:
    """One entry of /api/ps."""
    more = {"expires_at": "2318-11-29T00:00:00Z", "size_vram": SIZE, "context_length": context}
    return {**listed(made), **more}


def shown(made: Made) -> dict[str, Any]:
    parameters = "\n".join(f"{name:<31}{value}" for name, value in made.parameters.items())
    return {
        "modelfile": f"FROM {made.origin}\n", "parameters": parameters, "template": "{{ .Prompt }}",
        "details": details(made), "model_info": {"general.architecture": "pretend"},
        "capabilities": ["completion"], "modified_at": made.modified,
    }  # fmt: skip


def now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime())


def done(count: int) -> dict[str, Any]:
    """The counts at the end of an answer; durations are nanoseconds."""
    return {
        "done": True, "done_reason": "stop", "total_duration": 1_000_000, "load_duration": 1000,
        "prompt_eval_count": 7, "prompt_eval_duration": 1000, "eval_count": count, "eval_duration": 1000,
    }  # fmt: skip


def usage(count: int) -> dict[str, int]:
    return {"prompt_tokens": 7, "completion_tokens": count, "total_tokens": 7 + count}
