"""pydantic's errors as refusals of the manifest: what was written, what was needed, the nearest known key or value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from kit.errors import KeyPath, quoted
from kit.manifest.validators import Refused, shown

MAX_PROBLEMS = 100  # reported at once: a file with more is no manifest

# The keys that a mapping may have, by its path without list indices: ("models", "adapters").
KnownKeys = Mapping[tuple[str, ...], tuple[str, ...]]

_SYNONYMS = {
    "model": "source", "repo": "source", "model_id": "source", "path": "source", "model_path": "source",
    "served_model_name": "name", "id": "name",
    "max_model_len": "context", "max_length": "context", "context_length": "context", "num_ctx": "context",
    "max_num_seqs": "requests", "concurrency": "requests", "parallel": "requests", "batch_size": "requests",
    "gpu_memory_utilization": "memory", "kv_cache_memory_bytes": "memory", "vram": "memory", "limit": "memory",
    "enforce_eager": "graphs", "cuda_graphs": "graphs", "cudagraphs": "graphs",
    "lora": "adapters", "loras": "adapters", "lora_modules": "adapters",
    "environment": "env", "command": "args", "extra_args": "args", "mounts": "volumes", "share": "weight",
    "host": "bind", "address": "bind", "listen": "bind", "key": "api_key", "token": "api_key",
    "index": "device", "id_or_uuid": "device", "type": "task", "backend": "engine", "runtime": "engine",
    "services": "models", "workers": "models", "project": "name", "gateway": "router", "copies": "replicas",
    "front_image": "haproxy_image",
}  # fmt: skip

_NEEDED = {
    "string_type": "text",
    "string_too_short": "text",
    "int_type": "a whole number",
    "bool_type": "true or false",
    "float_type": "a number",
    "tuple_type": "a list: each item on its own line after '- ', or [one, two]",
    "dict_type": "a mapping: NAME: value",
    "model_type": "a mapping: keys with their values, indented",
    "greater_than_equal": "at least {ge}",
    "less_than_equal": "at most {le}",
    "too_short": "at least one: '- name: ...' with its source",
}


def refusals(error: ValidationError, known: KnownKeys) -> list[tuple[KeyPath, Refused]]:
    """Every error with its path. `known` are the keys that an unknown one is compared with."""
    found = [one for one in error.errors(include_url=False) if not _is_consequence(one)]
    refused = [(tuple(one["loc"]), _refused(one, known)) for one in found[:MAX_PROBLEMS]]
    if len(found) > MAX_PROBLEMS:
        refused.append(((), Refused(f"{len(found) - MAX_PROBLEMS} more problems", "is this a manifest?")))
    return refused


def _refused(error: ErrorDetails, known: KnownKeys) -> Refused:
    context: dict[str, Any] = error.get("ctx", {})
    reason = context.get("error")
    if isinstance(reason, Refused):
        return reason
    kind, value, path = error["type"], error["input"], tuple(error["loc"])
    if kind == "extra_forbidden":
        return _unknown(path, known)
    if kind == "missing":
        return Refused("missing key", _MISSING.get(str(path[-1]), f"write {path[-1]}:"))
    if kind == "literal_error":
        return _other_value(value, re.findall(r"'([^']*)'", context["expected"]))
    if kind in _NEEDED:
        what = "no value" if value in (None, "", []) else f"{shown(value)} is {_fault(kind, value)}"
        return Refused(what, f"needed: {_NEEDED[kind].format(**context)}", _hint(kind, value))
    return Refused(shown(value), error["msg"])


_MISSING = {
    "name": 'every model and adapter has a name: the one that clients put in "model"',
    "source": "needed: a Hugging Face id such as Qwen/Qwen2.5-0.5B-Instruct, or a folder such as ./models/chat",
    "models": "needed: a list of models, each with its name and source",
}


def _unknown(path: KeyPath, known: KnownKeys) -> Refused:
    key = str(path[-1])
    place = tuple(step for step in path[:-1] if isinstance(step, str))
    options = known.get(place, ())
    plain = key.strip().lower().replace("-", "_")
    near = _SYNONYMS.get(plain)
    near = near if near in options else next(iter(get_close_matches(plain, options, n=1)), None)
    where = f"in {'.'.join(place)}" if place else "at the top level"
    elsewhere = [".".join((*other, plain)) for other, names in known.items() if plain in names]
    if near:
        hint = f"did you mean '{near}'?"
    else:
        hint = f"it belongs in {elsewhere[0].rpartition('.')[0] or 'the top level'}" if elsewhere else ""
    return Refused(f"unknown key {quoted(key)}", f"allowed keys {where}: {', '.join(options)}", hint, at_key=True)


def _other_value(value: Any, options: list[str]) -> Refused:
    near = get_close_matches(str(value).strip().lower(), options, n=1) if isinstance(value, str) else []
    hint = f"did you mean '{near[0]}'?" if near else ""
    return Refused(f"{shown(value)} is not allowed here", f"needed: one of {', '.join(options)}", hint)


def _is_consequence(error: ErrorDetails) -> bool:
    """pydantic finds a list too short when every item of it is wrong."""
    return error["type"] == "too_short" and bool(error["input"])


def _fault(kind: str, value: Any) -> str:
    """What a value is instead of what it should be; `shown` names a list or mapping by its kind already."""
    if kind in ("greater_than_equal", "less_than_equal"):
        return "too small" if kind == "greater_than_equal" else "too large"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    return "text" if isinstance(value, str) else "not allowed here"


def _hint(kind: str, value: Any) -> str:
    if value is None:
        return "leave the key out for its default"
    if kind == "string_type" and isinstance(value, bool | int | float):
        return f'put it in quotes: "{shown(value)}"'
    if kind in ("int_type", "float_type") and isinstance(value, str) and re.fullmatch(r"[0-9]{1,18}", value.strip()):
        return f"remove the quotes: {value.strip()}"
    if kind == "int_type" and isinstance(value, float) and value.is_integer():
        return f"write {int(value)}"
    if kind == "bool_type" and isinstance(value, str):
        return {"on": "write true", "yes": "write true", "off": "write false", "no": "write false"}.get(
            value.lower(), ""
        )
    return ""
