"""What a model's own `args` change about its memory. Flags that the plan owns are refused before."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

DEFAULT_BATCHED = 2048
MODALITIES = ("image", "video", "audio")
_SHORTEST = len("--max-num-b")


@dataclass(frozen=True)
class Flags:
    """The memory-relevant part of `args`; None where the user said nothing. `speculative` is set for a draft model
    or head, which cannot be priced."""

    batched_tokens: int | None = None
    kv_dtype: str = "auto"
    block_tokens: int | None = None
    quantization: str | None = None
    dtype: str | None = None
    speculative: str | None = None
    ssm_dtype: str | None = None
    prefix_caching: bool | None = None
    keep_all: bool = False
    text_only: bool = False
    chunked_prefill: bool = True
    overrides: str = ""
    limits: str = ""
    long_prefill: int | None = None


_FLAGS = {
    "--max-num-batched-tokens": "batched_tokens",
    "--kv-cache-dtype": "kv_dtype",
    "--block-size": "block_tokens",
    "--quantization": "quantization",
    "--long-prefill-token-threshold": "long_prefill",
    "--mamba-ssm-cache-dtype": "ssm_dtype",
    "--hf-overrides": "overrides",
    "--limit-mm-per-prompt": "limits",
    "--dtype": "dtype",
    "--speculative-config": "speculative",
    "-q": "quantization",
    "-sc": "speculative",
}
# Flags without a value, and their opposites.
_SWITCHES: dict[str, tuple[str, bool]] = {
    "--enable-prefix-caching": ("prefix_caching", True),
    "--no-enable-prefix-caching": ("prefix_caching", False),
    "--disable-hybrid-kv-cache-manager": ("keep_all", True),
    "--no-disable-hybrid-kv-cache-manager": ("keep_all", False),
    "--language-model-only": ("text_only", True),
    "--no-language-model-only": ("text_only", False),
    "--enable-chunked-prefill": ("chunked_prefill", True),
    "--no-enable-chunked-prefill": ("chunked_prefill", False),
}
_COUNTS = ("batched_tokens", "block_tokens", "long_prefill")
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)([kmgtKMGT]?)")
_POWERS = {letter: 1000 ** (n + 1) for n, letter in enumerate("kmgt")} | {
    letter: 1024 ** (n + 1) for n, letter in enumerate("KMGT")
}


def read_flags(args: tuple[str, ...]) -> Flags:
    """`("--kv-cache-dtype", "fp8")` or `("--kv-cache-dtype=fp8",)` -> Flags. An invalid count is left as default:
    vLLM's own parser refuses it."""
    found: dict[str, str] = {}
    switched: dict[str, bool] = {}
    for here, after in zip(args, (*args[1:], ""), strict=False):
        name, equals, value = here.partition("=")
        if switch := _switch(name):
            switched[switch[0]] = switch[1]
        elif field := _field(name):
            found[field] = value if equals else after
    counts = {field: _count(found.pop(field)) for field in _COUNTS if field in found}
    kept = {field: count for field, count in counts.items() if count is not None}
    return Flags(**found, **kept, **switched)  # type: ignore[arg-type]


def switched_off(flags: Flags) -> tuple[str, ...]:
    """The kinds of input that no request may have: --limit-mm-per-prompt '{"video": 0}', or text alone."""
    if flags.text_only:
        return MODALITIES
    try:
        limits = json.loads(flags.limits or "{}")
    except json.JSONDecodeError:
        return ()
    return tuple(item for item, most in limits.items() if most == 0) if isinstance(limits, dict) else ()


def _switch(name: str) -> tuple[str, bool] | None:
    """A flag without a value, in full or by a beginning that is no other's."""
    spelt = name.replace("_", "-")
    found = {effect for flag, effect in _SWITCHES.items() if flag.startswith(spelt) and len(spelt) >= _SHORTEST}
    return _SWITCHES.get(spelt) or (found.pop() if len(found) == 1 else None)


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
