"""How vLLM reads the values of its flags."""

from __future__ import annotations

import argparse
import json
import re
from dataclasses import dataclass
from typing import Any

_SUFFIX = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


@dataclass(frozen=True)
class Lora:
    """One --lora-modules entry."""

    name: str
    path: str
    base: str | None = None


def human_readable_int(value: str) -> int:
    """`1k` = 1,000, `1K` = 1,024, `1.5g` = 1,500,000,000; decimals with a binary suffix are an error."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kKmMgGtT])", value.strip())
    if not match:
        return int(value)
    number, suffix = match.groups()
    if suffix.islower():
        return int(float(number) * _SUFFIX[suffix])
    if "." in number:
        hint = f"{number}{suffix.lower()}"
        raise argparse.ArgumentTypeError(
            f"Decimals are not allowed with binary suffixes like {suffix}. Did you mean to use {hint} instead?"
        )
    return int(number) * _SUFFIX[suffix]


def human_readable_int_or_auto(value: str) -> int:
    return -1 if value.strip().lower() in ("auto", "-1") else human_readable_int(value)


def lora_module(item: str) -> Lora:
    if "=" in item and "," not in item:
        name, _, path = item.partition("=")
        return Lora(name, path)
    try:
        data = json.loads(item)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"Invalid JSON format for --lora-modules: {item}") from error
    try:
        return Lora(data["name"], data["path"], data.get("base_model_name"))
    except (KeyError, TypeError, AttributeError) as error:
        raise argparse.ArgumentTypeError(f"Invalid fields for --lora-modules: {item} - {error}") from error


def any_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"Value {text} cannot be converted to <function loads>.") from error
