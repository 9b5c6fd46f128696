"""Numbers from real start-up logs; what is not there is unknown."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.diagnostics.pattern import LogFacts, read_log
from tests.support.readings import RECORDED, Reading, readings

LOGS = RECORDED / "logs" / "starts"
BY_ID = {reading.id: reading for reading in readings()}


@pytest.mark.parametrize("path", sorted(LOGS.glob("*.log")), ids=lambda path: path.stem)
def test_a_recorded_start_is_read_whole(path: Path) -> None:
    reading: Reading = BY_ID[path.stem]
    facts = read_log(path.read_text())
    assert facts.version == "0.26.0"
    assert facts.weights_gib == reading.logged_weights_gib
    assert facts.kv_tokens == reading.kv_tokens
    assert (facts.graphs_gib is None) == (not reading.setting.sizes)
    assert facts.start_seconds is not None


def test_there_are_recorded_starts() -> None:
    assert len(list(LOGS.glob("*.log"))) >= 3


def test_an_older_engine_says_it_in_one_line() -> None:
    facts = read_log("GPU KV cache size: 650,208 tokens, Maximum concurrency for 8,192 tokens per request: 79.37x")
    assert (facts.kv_tokens, facts.concurrency) == (650_208, 79.37)


def test_of_several_starts_the_last_counts() -> None:
    assert read_log("KV cache size: 1,000 tokens\nKV cache size: 2,000 tokens\n").kv_tokens == 2_000


def test_a_negative_graph_memory_is_kept_as_it_is() -> None:
    assert read_log("Graph capturing finished in 3 secs, took -5.39 GiB").graphs_gib == -5.39


def test_a_log_without_numbers_is_unknown_not_zero() -> None:
    assert read_log("INFO nothing here") == LogFacts()


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    assert isinstance(read_log(text), LogFacts)
