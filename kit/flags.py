"""What a model's own `args` change about its memory. Flags that the plan owns are refused before."""

from __future__ import annotations

from dataclasses import dataclass

from kit.units import parse_count

_DEFAULT_BATCHED = 2048


@dataclass(frozen=True)
class Flags:
    """The memory-relevant part of `args`; None where the user said nothing."""

    batched_tokens: int = _DEFAULT_BATCHED
    kv_dtype: str = "auto"
    block_tokens: int | None = None
    quantization: str | None = None
    dtype: str | None = None
    load_format: str | None = None


_WORDS = {
    "--max-num-batched-tokens": "batched_tokens",
    "--kv-cache-dtype": "kv_dtype",
    "--block-size": "block_tokens",
    "--quantization": "quantization",
    "-q": "quantization",
    "--dtype": "dtype",
    "--load-format": "load_format",
}
_COUNTS = ("batched_tokens", "block_tokens")


def read_flags(args: tuple[str, ...]) -> Flags:
    """`("--kv-cache-dtype", "fp8")` or `("--kv-cache-dtype=fp8",)` -> Flags. A count that is none is left as default:
    vLLM's own parser refuses it with its own words."""
    found: dict[str, str] = {}
    for here, after in zip(args, (*args[1:], ""), strict=False):
        name, equals, value = here.partition("=")
        field = _WORDS.get(name.replace("_", "-") if name.startswith("--") else name)
        if field:
            found[field] = value if equals else after
    counts = {field: _count(found.pop(field)) for field in _COUNTS if field in found}
    kept = {field: count for field, count in counts.items() if count is not None}
    return Flags(**found, **kept)  # type: ignore[arg-type]


def _count(text: str) -> int | None:
    try:
        return parse_count(text)
    except ValueError:
        return None
