"""Sizes and counts: read as people write them, exactly, and printed as people read them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.units import GIB, KIB, MIB, duration, gib, parse_bytes, parse_count, release, release_text, size


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("16GiB", 16 * GIB),
        ("512 MiB", 512 * MIB),
        (" 4gib ", 4 * GIB),
        ("2GB", 2 * 10**9),
        ("1.5GiB", 3 * GIB // 2),
        ("15.47GiB", int(Fraction("15.47") * GIB)),
        ("1TiB", 1024 * GIB),
        ("7kB", 7000),
        ("12KiB", 12 * KIB),
        ("40B", 40),
        ("1024", 1024),
        (1024, 1024),
        ("0", 0),
        ("999999999999999999.5B", 999999999999999999),
    ],
)
def test_a_size_is_read_to_the_byte(text: str | int, count: int) -> None:
    assert parse_bytes(text) == count


@pytest.mark.parametrize(
    "text",
    [
        "", "GiB", "16G", "16Gi", "-1GiB", "1,5GiB", "1.5", "1e3MiB", "4 GiB extra", "16GiB\n16GiB", "٣GiB", "½GiB",
        "9" * 400 + "GiB", "9" * 5000, "1." + "9" * 400 + "GiB", True, None, 1.5, ["4GiB"], {},
    ],
)  # fmt: skip
def test_what_is_no_size_raises_a_value_error_with_what_was_needed(text: Any) -> None:
    with pytest.raises(ValueError, match=r"^a size (such as 4GiB or 512MiB|with its unit, such as 4GiB)$"):
        parse_bytes(text)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("8k", 8192),
        ("8K", 8192),
        ("1.5k", 1536),
        ("1m", 2**20),
        ("4096", 4096),
        (4096, 4096),
        (" 32 ", 32),
        ("9007199254740993", 9007199254740993),
        ("0.5k", 512),
    ],
)
def test_a_count_is_read_exactly_and_k_is_1024(text: str | int, count: int) -> None:
    assert parse_count(text) == count


@pytest.mark.parametrize(
    "text", ["", "k", "8kb", "8g", "-8k", "1.3k", "1.5", "1e3", "8 k k", "٨k", True, None, 8.0, "9" * 30]
)
def test_what_is_no_count_raises_a_value_error_with_what_was_needed(text: Any) -> None:
    with pytest.raises(ValueError, match=r"^a (whole )?count such as 8192 or 8k \(k is 1024\)$"):
        parse_count(text)


@given(st.text())
def test_any_text_is_read_or_refused_with_a_value_error(text: str) -> None:
    for parse in (parse_bytes, parse_count):
        try:
            assert parse(text) >= 0
        except ValueError as error:
            assert str(error).startswith("a ")


@given(st.integers(0, 10**15))
def test_plain_digits_mean_themselves(count: int) -> None:
    assert parse_bytes(str(count)) == parse_count(str(count)) == count


@given(st.integers(0, 10**6))
def test_units_multiply(count: int) -> None:
    assert parse_bytes(f"{count}MiB") == count * MIB
    assert parse_count(f"{count}k") == count * 1024


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (40, "40 B"),
        (12 * KIB, "12 KiB"),
        (int(38.6 * MIB), "38.6 MiB"),
        (GIB, "1.00 GiB"),
        (-3 * GIB // 2, "-1.50 GiB"),
        (140 * GIB, "140.00 GiB"),
    ],
)
def test_a_size_is_printed_in_the_unit_a_person_would_pick(count: int, text: str) -> None:
    assert size(count) == text


def test_gib_keeps_its_unit() -> None:
    assert gib(512 * MIB) == "0.50 GiB"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0 s"), (0.4, "0 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (60, "1 min 0 s"), (750, "12 min 30 s"),
        (3599.4, "59 min 59 s"), (3600, "1 h 0 min"), (3840, "1 h 4 min"), (90000, "25 h 0 min"),
        (273600, "3 d 4 h"),
    ],
)  # fmt: skip
def test_seconds_in_words(seconds: float, said: str) -> None:
    assert duration(seconds) == said


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("26.1.5+dfsg1", (26, 1)),
        ("v2.20.3", (2, 20)),
        ("580.95", (580, 95)),
        ("8.9", (8, 9)),
        ("latest", None),
        ("", None),
    ],
)
def test_the_release_that_a_version_names(text: str, found: tuple[int, int] | None) -> None:
    assert release(text) == found
    if found:
        assert release(release_text(found)) == found
