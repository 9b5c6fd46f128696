"""A model's own arguments, as vLLM's parser would read them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.memory.flags import Flags, read_flags


@pytest.mark.parametrize(
    ("args", "flags"),
    [
        ((), Flags()),
        (("--kv-cache-dtype", "fp8"), Flags(kv_dtype="fp8")),
        (("--kv-cache-dtype=fp8",), Flags(kv_dtype="fp8")),
        (("--kv_cache_dtype", "fp8"), Flags(kv_dtype="fp8")),
        (("--kv-cache-dt", "fp8"), Flags(kv_dtype="fp8")),
        (("--max-num-batched-tokens", "8k"), Flags(batched_tokens=8000)),
        (("--max-num-batched-tokens", "8K"), Flags(batched_tokens=8192)),
        (("--max-num-batched-tokens=4096", "--block-size", "32"), Flags(batched_tokens=4096, block_tokens=32)),
        (("--enable-prefix-caching", "--disable-hybrid-kv"), Flags(prefix_caching=True, keep_all=True)),
        (("--no-enable-prefix-caching", "--language-model-only"), Flags(prefix_caching=False, text_only=True)),
        (("--hf-overrides", "{}", "--limit-mm-per-prompt", "{}"), Flags(overrides="{}", limits="{}")),
        (("-q", "fp8"), Flags(quantization="fp8")),
        (("--speculative-config", "{}"), Flags(speculative="{}")),
        (("--max-num-batched-tokens", "many"), Flags()),
        (("--max-num-batched-tokens",), Flags()),
        (("--trust-remote-code", "--seed", "7"), Flags()),
    ],
)
def test_arguments_are_read(args: tuple[str, ...], flags: Flags) -> None:
    assert read_flags(args) == flags


def test_of_two_the_last_counts() -> None:
    assert read_flags(("--dtype", "float16", "--dtype", "bfloat16")).dtype == "bfloat16"


@given(st.lists(st.text(max_size=30)).map(tuple))
def test_any_arguments_are_read(args: tuple[str, ...]) -> None:
    assert read_flags(args).batched_tokens is None or read_flags(args).batched_tokens >= 1
