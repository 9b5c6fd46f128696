"""Unquoted scalars: read only where every YAML reader agrees."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kit.manifest.yaml_syntax import Scalar, is_switch, resolve


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None), ("~", None), ("null", None), ("NULL", None), ("nULL", "nULL"),
        ("true", True), ("False", False), ("tRUE", "tRUE"), ("yes", "yes"), ("Off", "Off"), ("y", "y"),
        ("0", 0), ("8192", 8192), ("-1", -1), ("+3", 3), ("0.5", 0.5), (".5", 0.5), ("5.", 5.0), ("1.0e+3", 1000.0),
        ("1.5e-3", 0.0015), ("-0", 0),
        ("chat", "chat"), ("8k", "8k"), ("127.0.0.1", "127.0.0.1"), ("v0.26.0", "v0.26.0"), ("-", "-"), (".", "."),
        ("./models", "./models"), ("--flag", "--flag"), ("1.2.3", "1.2.3"), ("a:b", "a:b"), ("-tp", "-tp"), ("+", "+"),
        ("16GiB", "16GiB"), ("2026-01", "2026-01"), ("12:90", "12:90"), ("=", "="),
    ],
)  # fmt: skip
def test_a_plain_scalar_is_what_it_looks_like(text: str, value: Scalar) -> None:
    found, complaint = resolve(text)
    assert (found, type(found), complaint) == (value, type(value), "")


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("12:30", "sixties"), ("12:30:45", "sixties"), ("1:20.5", "sixties"), ("-1:30", "sixties"),
        ("2026-01-01", "date"), ("2026-1-1 12:00:00", "date"), ("2026-01-01T00:00:00Z", "date"),
        ("0x1F", "hexadecimal"), ("0b101", "binary"), ("010", "octal"), ("0o17", "octal"), ("08", "octal"),
        ("1_000", "plain digits"), ("1_0.5", "plain digits"), (".0_", "plain digits"), ("9" * 19, "plain digits"),
        ("1e3", "plain digits"), ("1.5e3", "plain digits"), ("1.0e+999", "plain digits"), ("-.5", "plain digits"),
        (".inf", "infinite"), ("-.INF", "infinite"), (".nan", "infinite"),
    ],
)  # fmt: skip
def test_what_readers_take_differently_stays_text_with_a_complaint(text: str, part: str) -> None:
    found, complaint = resolve(text)
    assert found == text
    assert part in complaint


@pytest.mark.parametrize("text", ["on", "Off", "YES", "no"])
def test_switches_are_known(text: str) -> None:
    assert is_switch(text)
    assert isinstance(yaml.safe_load(text), bool)


@pytest.mark.parametrize("text", ["true", "y", "oN", "none", ""])
def test_other_words_are_no_switches(text: str) -> None:
    assert not is_switch(text)


PLAIN = st.text("0123456789_.:-+eExXob~=aF naullINFtrue", max_size=12)


@given(PLAIN)
def test_what_is_read_without_complaint_is_what_yaml_1_1_reads(text: str) -> None:
    """Save for on, off, yes and no."""
    value, complaint = resolve(text)
    if not complaint and not is_switch(text):
        theirs = _yaml_1_1(text)
        assert (value, type(value)) == (theirs, type(theirs))


def _yaml_1_1(text: str) -> Any:
    """What PyYAML makes of an unquoted scalar."""
    loader = yaml.SafeLoader("")
    tag = loader.resolve(yaml.ScalarNode, text, (True, False))
    if tag in ("tag:yaml.org,2002:value", "tag:yaml.org,2002:merge"):
        return text
    return loader.construct_object(yaml.ScalarNode(tag, text))
