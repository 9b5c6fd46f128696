"""vLLM's start-time checks: each row fails for what it is about, in the versions that it names."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kit.errors import ManifestError
from kit.planner.start_checks import StartFlags, unmet
from tests.support.found import facts_of, plan_of

GOOD = StartFlags(
    context=8192, requests=32, batched_tokens=2496, block=2096, blocks=64, needed_blocks=8, captured=True, states=True,
    aligned=True, chunked=True, item=0, long_prefill=0, asked_block=16,
)  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "version", "failing"),
    [
        ({}, (0, 26), 0),
        ({"requests": 4096, "blocks": 4096}, (0, 26), 1),
        ({"chunked": False}, (0, 26), 1),
        ({"item": 4000, "aligned": False}, (0, 26), 1),
        ({"batched_tokens": 2048}, (0, 26), 1),
        ({"batched_tokens": 2048}, (0, 32), 0),
        ({"item": 280}, (0, 32), 1),
        ({"long_prefill": 100}, (0, 26), 1),
        ({"blocks": 26}, (0, 26), 1),
        ({"blocks": 26, "captured": False}, (0, 26), 0),
        ({"blocks": 26, "states": False}, (0, 26), 0),
        ({"blocks": 7, "captured": False}, (0, 26), 1),
        ({"asked_block": 24}, (0, 26), 1),
        ({"batched_tokens": 2048}, None, 1),
    ],
)
def test_each_check_fails_for_what_it_is_about(
    changes: dict[str, int], version: tuple[int, int] | None, failing: int
) -> None:
    flags = replace(GOOD, **changes)
    found = list(unmet(flags, version))
    assert len(found) == failing
    assert all(check.said(flags) and check.needed(flags).startswith("needed: ") and check.source for check in found)


@pytest.mark.parametrize(
    ("case", "args", "said"),
    [
        ("F05", ("--enable-prefix-caching", "--max-num-batched-tokens", "1024"), "is less than a block"),
        ("F07", ("--max-num-batched-tokens", "2048"), "is less than the largest image or video"),
        ("F08", ("--no-enable-chunked-prefill", "--max-num-batched-tokens", "2048"), "prompts are not read in parts"),
    ],
)
def test_what_args_say_over_the_plan_is_checked_too(case: str, args: tuple[str, ...], said: str) -> None:
    with pytest.raises(ManifestError, match=said) as caught:
        plan_of(case, "48GiB", facts_of(case), args=args, image="vllm/vllm-openai:v0.26.0")
    assert caught.value.problems[0].path == ("models", 0, "args")
