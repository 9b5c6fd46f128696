"""Variables as Docker Compose replaces them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.compose.load import MissingVariableError, dotenv, interpolate

THERE = {"NAME": "x", "EMPTY": "", "OTHER": "o"}
SAID = {
    "plain": "plain",
    "$$": "$",
    "$$NAME": "$NAME",
    "$NAME-$NAME": "x-x",
    "${NAME}": "x",
    "${UNSET}": "",
    "$UNSET.": ".",
    "${UNSET:-d}": "d",
    "${UNSET-d}": "d",
    "${EMPTY:-d}": "d",
    "${EMPTY-d}": "",
    "${NAME:-d}": "x",
    "${UNSET:-${NAME}}": "x",
    "${UNSET:-${UNSET:-a}b}": "ab",
    "${UNSET:-}": "",
    "${UNSET:-a}b}": "ab}",
    "${NAME:+y}": "y",
    "${EMPTY:+y}": "",
    "${EMPTY+y}": "y",
    "${UNSET+y}": "",
    "${NAME:?why}": "x",
    "${EMPTY?why}": "",
    "${UNSET:-line\nline}": "line\nline",
    "${UNSET:-$$}": "$",
}


@pytest.mark.parametrize(("text", "value"), SAID.items())
def test_a_variable_is_replaced(text: str, value: str) -> None:
    assert interpolate(text, THERE) == value


@pytest.mark.parametrize("text", ["${UNSET:?set it, $OTHER}", "${EMPTY:?set it, $OTHER}", "${UNSET?set it, $OTHER}"])
def test_a_variable_that_is_demanded_is_named_with_the_files_words(text: str) -> None:
    with pytest.raises(MissingVariableError) as caught:
        interpolate(text, THERE)
    assert caught.value.words == "set it, o"
    assert caught.value.name in ("UNSET", "EMPTY")


@pytest.mark.parametrize("text", ["$", "100$ ", "$1", "${", "${}", "${NAME", "${NAME!}", "${1}", "a$(b)"])
def test_a_dollar_that_means_nothing_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\$"):
        interpolate(text, THERE)


@given(st.text())
def test_what_is_printed_with_doubled_dollars_comes_back(text: str) -> None:
    assert interpolate(text.replace("$", "$$"), {}) == text


@given(st.text(alphabet="${}:-?+AB \n"))
def test_any_text_is_replaced_or_refused(text: str) -> None:
    try:
        assert isinstance(interpolate(text, {"A": "1"}), str)
    except ValueError as error:
        assert str(error)


def test_a_dotenv_file_is_read() -> None:
    text = """
# a comment
PLAIN=one two   # and a comment
export EXPORTED=yes
SINGLE='$PLAIN # kept'
DOUBLE="a\\nb ${PLAIN}"
REFERS=${PLAIN}!
EMPTY=
HASH=a#b
COLON: value
INHERITED
"""
    assert dotenv(text, {"PLAIN": "outside"}) == {
        "PLAIN": "one two",
        "EXPORTED": "yes",
        "SINGLE": "$PLAIN # kept",
        "DOUBLE": "a\nb outside",
        "REFERS": "outside!",
        "EMPTY": "",
        "HASH": "a#b",
        "COLON": "value",
    }


def test_a_line_that_is_no_variable_is_named() -> None:
    with pytest.raises(ValueError, match="line 2"):
        dotenv("A=1\nwhat is this\n", {})
