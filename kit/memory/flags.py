"""What a model's own `args` change about its memory. Flags that the plan owns are refused before."""

from __future__ import annotations

import re
from dataclasses import dataclass

_DEFAULT_BATCHED = 2048
_SHORTEST = len("--max-num-b")


@dataclass(frozen=True)
class Flags:
    """The memory-relevant part of `args`; None where the user said nothing. `speculative` is set for a draft model
    or head, which cannot be priced."""

    batched_tokens: int = _DEFAULT_BATCHED
    kv_dtype: str = "auto"
    block_tokens: int | None = None
    quantization: str | None = None
    dtype: str | None = None
    speculative: str | None = None


_FLAGS = {
    "--max-num-batched-tokens": "batched_tokens",
    "--kv-cache-dtype": "kv_dtype",
    "--block-size": "block_tokens",
    "--quantization": "quantization",
    "--dtype": "dtype",
    "--speculative-config": "speculative",
    "-q": "quantization",
    "-sc": "speculative",
}
_COUNTS = ("batched_tokens", "block_tokens")
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)([kmgtKMGT]?)")
_POWERS = {letter: 1000 ** (n + 1) for n, letter in enumerate("kmgt")} | {
    letter: 1024 ** (n + 1) for n, letter in enumerate("KMGT")
}


def read_flags(args: tuple[str, ...]) -> Flags:
    """`("--kv-cache-dtype", "fp8")` or `("--kv-cache-dtype=fp8",)` -> Flags. An invalid count is left as default:
    vLLM's own parser refuses it."""
    found: dict[str, str] = {}
    for here, after in zip(args, (*args[1:], ""), strict=False):
        name, equals, value = here.partition("=")
        if field := _field(name):
            found[field] = value if equals else after
    counts = {field: _count(found.pop(field)) for field in _COUNTS if field in found}
    kept = {field: count for field, count in counts.items() if count is not None}
    return Flags(**found, **kept)  # type: ignore[arg-type]


def _field(name: str) -> str | None:
    """The flag in any spelling that argparse takes: underscores, and a beginning that is no other flag's."""
    spelt = name.replace("_", "-")
    found = [
        field for flag, field in _FLAGS.items() if flag.startswith(spelt) and len(spelt) >= min(_SHORTEST, len(flag))
    ]
    return found[0] if len(found) == 1 else None


def _count(text: str) -> int | None:
    """A count as vLLM reads it: 8k is 8000, 8K is 8192 (utils/argparse_utils.py, human_readable_int)."""
    match = _NUMBER.fullmatch(text.strip())
    if not match:
        return None
    number = float(match.group(1)) * _POWERS.get(match.group(2), 1)
    return int(number) if number >= 1 else None
