"""Every pattern against the words it was made for, and against real logs under tests/recorded/logs."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kit.diagnostics.explain import PATTERNS, explain
from kit.diagnostics.pattern import Explanation
from tests.support.paths import RECORDED
from tests.unit.diagnostics.test_explain import DOCKER, SAID

TEXTS: dict[str, tuple[str, str, str]] = {
    name: (said["text"], said["cause"], said["fix"])
    for name, said in yaml.safe_load((RECORDED / "words.yaml").read_text(encoding="utf-8")).items()
}
HEALTHY = sorted((RECORDED / "logs").glob("healthy-*.log"))
LINES = yaml.safe_load((RECORDED / "lines.yaml").read_text(encoding="utf-8"))
FAILED = sorted(set((RECORDED / "logs").glob("*.log")) - set(HEALTHY))
ALL = [
    *DOCKER,
    *(line for kind in LINES.values() for where in ("logs", "docker") for line in kind.get(where, ())),
    *(text for text, _, _ in (*TEXTS.values(), *SAID.values())),
    *(log.read_text(encoding="utf-8") for log in FAILED),
]


@pytest.mark.parametrize(("text", "cause", "fix"), TEXTS.values(), ids=TEXTS)
def test_a_known_text_is_explained(text: str, cause: str, fix: str) -> None:
    found = explain(f"INFO something before\n{text}\nTraceback of something after\n")
    assert found is not None
    assert cause in found.cause
    assert fix in found.fix


@pytest.mark.parametrize("log", FAILED, ids=lambda path: path.stem)
def test_a_recorded_failure_is_explained(log: Path, golden: Callable[[Path, str], None]) -> None:
    found = explain(log.read_text(encoding="utf-8"))
    assert found is not None
    golden(log.with_suffix(".txt"), f"cause: {found.cause}\nfix: {found.fix}\nretryable: {found.retryable}\n")


@pytest.mark.parametrize("log", HEALTHY, ids=lambda path: path.stem)
def test_a_recorded_start_that_went_well_is_not_explained(log: Path) -> None:
    assert explain(log.read_text(encoding="utf-8")) is None


def test_there_are_real_logs_of_both_kinds() -> None:
    assert len(FAILED) >= 25
    assert len(HEALTHY) >= 3


def test_at_least_thirty_failures_are_known() -> None:
    assert len({word.cause for word in PATTERNS}) >= 30


def test_every_pattern_has_met_its_text() -> None:
    assert [word.pattern for word in PATTERNS if not any(map(word.find, ALL))] == []


def test_no_pattern_is_hidden_by_a_more_general_one_above_it() -> None:
    used = {found.cause for found in map(explain, ALL) if found}
    hidden = [word.cause for word in PATTERNS if not any(re.fullmatch(_shape(word.cause), cause) for cause in used)]
    assert hidden == []


def _shape(sentence: str) -> str:
    """`{name}` stands for anything."""
    parts = re.split(r"(\{\w+\})", sentence)
    return "".join(".*" if re.fullmatch(r"\{\w+\}", part) else re.escape(part) for part in parts)


def test_a_sentence_is_whole() -> None:
    for found in filter(None, map(explain, ALL)):
        for sentence in (found.cause, found.fix):
            assert not re.search(r"\{\w+\}|  |\(\)|\s(?:[;,)]|\.(?!\.))|\s$", sentence), sentence


def test_the_program_that_a_traceback_quotes_does_not_count() -> None:
    quoted = (
        'ERROR [core.py:1]   File "/vllm/config.py", line 3, in check\n'
        "ERROR [core.py:1]     raise ValueError('No space left on device')\n"
        "ERROR [core.py:1]           ^^^^^^^^^^^^^^^^^^\n"
        "ERROR [core.py:1] ValueError: something else\n"
    )
    assert explain(quoted) is None
    assert explain(quoted + "OSError: [Errno 28] No space left on device\n") is not None


PIECES = (
    "CUDA out of memory", "Tried to allocate ", "lora", "cudagraph", "in capture", "(", ")", "GiB", "\n", "'", "[", "1",
    'File "x", line 1, in y\n', "max seq len (1)", "KV cache is needed", "Permission denied", "{access: cdi}", "None",
)  # fmt: skip


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=60).map("".join))
def test_whatever_a_log_says_reading_it_ends_well(log: str) -> None:
    found = explain(log)
    assert found is None or (isinstance(found, Explanation) and found.cause and found.fix)


@pytest.mark.parametrize(
    "unit", ["lora ", "CUDA out of memory ", "cudagraph ", "Permission denied '", 'File "a", line 1, in b ']
)
def test_one_endless_line_is_read_in_little_time(unit: str) -> None:
    assert not (explain(unit * (200_000 // len(unit))) or Explanation("", "", False)).retryable
