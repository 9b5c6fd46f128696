from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.bench.load import (
    LoadSpec,
    Prompts,
    arguments,
    tokenizer_of,
)
from tests.support.paths import GOLDEN

Golden = Callable[[Path, str], None]
PLAIN = LoadSpec("chat", "chat", "generate", Prompts(128, 128), 48, 960, seed=7)
LOADS = {
    "through the router": PLAIN,
    "straight to a worker": replace(PLAIN, target="worker", concurrency=1, count=24),
    "with shared prefixes": replace(PLAIN, prompts=Prompts(2080, 32, 2048, 2)),
    "more prefixes than requests": replace(PLAIN, prompts=Prompts(2080, 32, 2048, 64), count=16),
    "an embedding model": replace(PLAIN, name="embed", service="embed", task="embed", prompts=Prompts(128, 0)),
    "goodput": replace(PLAIN, goodput=("ttft:500", "tpot:50")),
    "at a rate": replace(PLAIN, rate=12.5),
}


def test_what_vllm_is_told(golden: Golden) -> None:
    lines = []
    for name, load in LOADS.items():
        url = "http://router:30000" if load.target == "router" else f"http://{load.service}:8000"
        words = arguments(load, url, f"/models/{load.service}", "0.json", trust=name == "an embedding model")
        lines += [f"# {name}", *shlex.join(("vllm", *words)).replace(" --", "\n  --").splitlines(), ""]
    golden(GOLDEN / "bench" / "arguments.txt", "\n".join(lines))


@st.composite
def loads(draw: st.DrawFn) -> LoadSpec:
    prefix = draw(st.sampled_from([0, 0, 64]))
    prefixes = draw(st.integers(1, 40)) if prefix else 0
    return LoadSpec(
        "chat", "chat", "generate", Prompts(128, 16, prefix, prefixes),
        concurrency=draw(st.integers(1, 64)), count=draw(st.integers(64, 2000)),
        rate=draw(st.none() | st.floats(0.5, 100)), processes=draw(st.integers(1, 8)), seed=draw(st.integers(0, 2**24)),
    )  # fmt: skip


@given(loads())
def test_the_parts_of_a_load_are_the_load(load: LoadSpec) -> None:
    parts = load.split()
    assert len(parts) == min(load.processes, load.concurrency)
    assert sum(part.count for part in parts) == load.count
    assert sum(part.concurrency for part in parts) == load.concurrency
    assert sum(part.rate or 0 for part in parts) == pytest.approx(load.rate or 0)
    assert sum(part.prompts.prefixes for part in parts) == (
        max(load.prompts.prefixes, len(parts)) if load.prompts.prefix else 0
    )


@given(loads())
def test_the_parts_are_alike_and_each_can_be_sent(load: LoadSpec) -> None:
    parts = load.split()
    for of in (lambda p: p.count, lambda p: p.concurrency, lambda p: p.prompts.prefixes):
        assert max(map(of, parts)) - min(map(of, parts)) <= 1
    assert all(part.processes == 1 and part.concurrency >= 1 and part.count >= 1 for part in parts)
    assert all(part.prompts.prefixes >= 1 for part in parts if part.prompts.prefix)
    assert {replace(part, count=0, concurrency=0, rate=None, seed=0, prompts=load.prompts) for part in parts} == {
        replace(load, count=0, concurrency=0, rate=None, seed=0, processes=1)
    }


@given(loads(), st.integers(1, 1000))
def test_no_two_processes_send_the_same_prompts(load: LoadSpec, later: int) -> None:
    mine, others = load.split(), replace(load, seed=load.seed + later).split()
    seeds = [part.seed for part in (*mine, *others)]
    assert len(set(seeds)) == len(seeds) and max(seeds) < 2**32


@given(loads())
def test_what_vllm_is_told_can_be_read_back(load: LoadSpec) -> None:
    for part in load.split():
        words = arguments(part, "http://router:30000", "/models/chat", "3.json")
        told = dict(zip(words, (*words[1:], ""), strict=True))
        assert words[:2] == ("bench", "serve")
        assert (told["--num-prompts"], told["--max-concurrency"]) == (str(part.count), str(part.concurrency))
        assert ("--request-rate" in words) == bool(part.rate) and told["--seed"] == str(part.seed)
        if part.prompts.prefix:
            length = int(told["--prefix-repetition-prefix-len"]) + int(told["--prefix-repetition-suffix-len"])
            assert length == part.prompts.input and int(told["--prefix-repetition-num-prefixes"]) <= part.count


@pytest.mark.parametrize(
    ("command", "environ", "found"),
    [
        (["/models/chat", "--port", "8000"], {}, ("/models/chat", False)),
        (["org/name"], {}, ("org/name", False)),
        (["org/name", "--tokenizer", "/models/other"], {}, ("/models/other", False)),
        (["org/name", "--tokenizer=org/other", "--revision", "abc"], {}, ("org/other", False)),
        (["/models/chat", "--revision", "abc"], {}, ("/models/chat", False)),
        (["org/name", "--trust-remote-code"], {}, ("org/name", True)),
        (
            ["org/name", "--revision", "abc"],
            {"HF_HOME": "/cache/huggingface"},
            ("/cache/huggingface/hub/models--org--name/snapshots/abc", False),
        ),
        (
            ["org/name", "--revision=abc"],
            {},
            ("/root/.cache/huggingface/hub/models--org--name/snapshots/abc", False),
        ),
        ([""], {}, ("", False)),
    ],
)
def test_where_a_worker_s_tokenizer_is(command: list[str], environ: dict[str, str], found: Any) -> None:
    assert tokenizer_of(command, environ) == found


@pytest.mark.parametrize(
    ("prompts", "words"),
    [
        (Prompts(128, 64), "128 tokens in, random, 64 tokens out"),
        (Prompts(128, 0), "128 tokens in, random"),
        (Prompts(96, 8, 64, 2), "96 tokens in, the first 64 of them one of 2 shared prefixes, 8 tokens out"),
    ],
)
def test_prompts_in_words(prompts: Prompts, words: str) -> None:
    assert str(prompts) == words
