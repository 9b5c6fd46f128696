"""Every argument of vLLM has a place in the table of what it does to memory; what has none is refused."""

from __future__ import annotations

from typing import Any

import pytest

from kit.manifest.managed_args import arguments
from kit.manifest.model import Model
from kit.memory.arguments import NOTHING, PRICED, UNPRICED, full_name, refused
from tests.support.paths import RECORDED

FLAGS = (RECORDED / "vllm-flags.txt").read_text().split()


def problems(**words: Any) -> list[str]:
    return [why.what for _, why in refused(Model.model_validate({"name": "a", "source": "a/b", **words}))]


@pytest.mark.parametrize("flag", FLAGS)
def test_every_flag_of_vllm_0_26_and_0_32_is_known_or_set_by_the_plan(flag: str) -> None:
    known = full_name(flag) or list(arguments("vllm", (flag,)))
    assert known or "what it does to memory" not in problems(args=(flag,))[0]


def test_no_flag_stands_in_two_tables() -> None:
    assert not PRICED & NOTHING
    assert not (PRICED | NOTHING) & set(UNPRICED)


@pytest.mark.parametrize(
    "args",
    [
        ("--kv-cache-dtype", "turboquant_4bit_nc"),
        ("--kv-cache-dtype", "fp9"),
        ("--dtype", "float8"),
        ("--cpu-offload-gb", "4"),
        ("--performance-mode", "throughput"),
        ("--mamba_cache_dtype", "float32"),
        ("--attention-backend", "FLASHINFER"),
        ("--no-such-flag",),
    ],
)
def test_what_is_not_priced_is_refused(args: tuple[str, ...]) -> None:
    assert len(problems(args=args)) == 1


@pytest.mark.parametrize(
    "args",
    [
        ("--kv-cache-dtype", "int8_per_token_head"),
        ("--dtype", "float32"),
        ("--enable-auto-tool-choice", "--tool-call-parser", "hermes"),
        ("--no-enable-prefix-caching",),
        ("--limit-mm-per-prompt.image", "1"),
        ("--max-num-batched-tok", "8192"),
        ("--attention-backend", "TRITON_ATTN"),
    ],
)
def test_what_is_priced_or_costs_nothing_passes(args: tuple[str, ...]) -> None:
    assert problems(args=args) == []


def test_variables_too() -> None:
    assert problems(env={"VLLM_LOGGING_LEVEL": "DEBUG", "VLLM_ALLOW_LONG_MAX_MODEL_LEN": "1", "ANY": "x"}) == []
    assert len(problems(env={"VLLM_MLA_DISABLE": "1", "VLLM_OF_THE_FUTURE": "1"})) == 2
