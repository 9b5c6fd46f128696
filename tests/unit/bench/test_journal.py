from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.bench.journal import (
    BenchStarted,
    Estimated,
    MemoryRead,
    PilotDone,
    Record,
    RunDone,
    StackStarted,
    line,
    read,
    runs,
    sizes,
    whole,
)
from kit.bench.sizing import Size
from kit.errors import TargetError
from tests.support.anybench import FIGURES, NASTY, PHASES, TEXTS, WHOLE

NUMBER = st.floats(0, 1e9)
SIZES = st.lists(st.tuples(NUMBER, st.integers(1, 8)), max_size=3).map(
    lambda rows: Size(tuple(rate for rate, _ in rows), tuple(n for _, n in rows))
)
# What ends a line, for some readers of text.
KEYS = NASTY | st.sampled_from(["a\u2028b", "a\u0085b", "a\x0cb", "a\rb", "ü🦙"])
FINITE = FIGURES.filter(lambda figures: "nan" not in repr(figures))
RECORDS: st.SearchStrategy[Record] = st.one_of(
    st.builds(
        RunDone, KEYS, KEYS, NUMBER, NUMBER, st.none() | NUMBER, st.dictionaries(KEYS, FINITE, max_size=2),
        st.none() | NUMBER, PHASES.filter(lambda phases: "nan" not in repr(phases)), TEXTS, TEXTS,
    ),
    st.builds(PilotDone, KEYS, KEYS, SIZES, NUMBER, NUMBER),
    st.builds(StackStarted, KEYS, NUMBER, st.integers(0, 9)),
    st.builds(Estimated, NUMBER, st.none() | NUMBER),
    st.builds(BenchStarted, KEYS, WHOLE),
    st.builds(MemoryRead, st.dictionaries(KEYS, WHOLE, max_size=3)),
)  # fmt: skip
PLACE = "bench/records.jsonl"


def text_of(records: list[Record]) -> str:
    return "".join(line(record) for record in records)


@given(st.lists(RECORDS, max_size=5))
def test_records_come_back_as_they_were(records: list[Record]) -> None:
    assert read(text_of(records), PLACE) == tuple(records)


@given(RECORDS)
def test_a_record_is_one_line_of_json_in_ascii(record: Record) -> None:
    text = line(record)
    assert text.isascii() and text.splitlines() == [text[:-1]] and "kind" in json.loads(text)


@given(st.lists(RECORDS, max_size=3), RECORDS, st.data())
def test_a_last_line_that_was_not_finished_is_none(records: list[Record], last: Record, data: st.DataObject) -> None:
    half = line(last)[: data.draw(st.integers(0, len(line(last)) - 1))]
    assert read(text_of(records) + half, PLACE) == tuple(records)
    assert whole(text_of(records) + half) == text_of(records)
    assert read(whole(text_of(records) + half) + line(last), PLACE) == (*records, last)


def test_empty_lines_are_none_and_are_counted() -> None:
    assert read("\n\n" + line(Estimated(1.0)) + "\n", PLACE) == (Estimated(1.0),)
    with pytest.raises(TargetError, match=r"bench/records\.jsonl:3 is no record"):
        read("\n" + line(Estimated(1.0)) + "{}\n", PLACE)


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        ("not json", "Invalid JSON"),
        ("3", "Input should be"),
        ("[]", "Input should be"),
        ("{}", "Unable to extract tag using discriminator 'kind'"),
        ('{"kind": "sang"}', "does not match any of the expected tags: 'run_done', 'pilot_done', "),
        ('{"kind": "estimated", "told": 3}', "estimated.estimated: Field required"),
        (
            '{"kind": "pilot_done", "key": "a", "digest": "d", "seconds": 1, "around": 1}',
            "pilot_done.size: Field required",
        ),
        ('{"kind": "pilot_done", "key": "a", "digest": "d", "size": 3}', "pilot_done.size: Input should be an object"),
        ('{"kind": "run_done", "key": "a"}', "run_done.digest: Field required"),
        (
            '{"kind": "run_done", "key": "a", "digest": "d", "seconds": 1, "models": {"chat": 3}}',
            "run_done.models.chat: Input should be an object",
        ),
        (
            '{"kind": "bench_started", "at": "now", "nonce": 1, "version": 2}',
            "version: Input should be 1",
        ),
    ],
)
def test_a_broken_line_is_refused_at_its_place_with_what_to_do(broken: str, why: str) -> None:
    with pytest.raises(TargetError) as caught:
        read(line(Estimated(1.0)) + broken + "\n" + line(Estimated(2.0)), PLACE)
    said = str(caught.value)
    assert said.startswith("bench/records.jsonl:2 is no record of a benchmark; ") and why in said
    assert said.endswith("; choose another folder with -o")


def test_a_run_that_was_made_again_is_the_last_one() -> None:
    records = [RunDone("a.b.1", "d", 1.0), RunDone("a.c.1", "d", 2.0), RunDone("a.b.1", "e", 3.0), Estimated(1.0)]
    assert runs(records) == {"a.b.1": records[2], "a.c.1": records[1]}


def test_what_looks_found_is_known_by_the_trial() -> None:
    size: Any = Size((1.5, 2.0), (1, 4))
    assert sizes([PilotDone("router.direct-8", "d", size, 3.0, 1.0), StackStarted("x", 1, 1)]) == {
        "router.direct-8": size
    }


def test_records_of_an_older_kit_are_refused_with_what_converts_them() -> None:
    with pytest.raises(TargetError, match="was written by an older monogpu-kit; `scripts/convert-results FOLDER`"):
        read('{"kind": "began", "at": "now", "nonce": 1}\n', PLACE)
