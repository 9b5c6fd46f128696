"""YAML text -> data with the place of every node; everything that readers disagree on is a problem at its line."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from kit.errors import ManifestError, Mark
from kit.manifest.yaml_document import (
    LOADER,
    MAX_BYTES,
    MAX_DEPTH,
    MAX_PROBLEMS,
    MAX_STRAYS,
    Document,
    load,
    load_bytes,
)

LOADERS = [yaml.SafeLoader, LOADER]


def problems(text: str) -> list[str]:
    """What `load` says of `text`, first lines only, whether it raises or goes on."""
    try:
        found = load(text, "f").problems
    except ManifestError as error:
        found = error.problems
    return [str(problem).splitlines()[0] for problem in found]


@pytest.mark.parametrize("loader", LOADERS)
def test_values_and_words_have_their_places(loader: Any) -> None:
    text = "name: chat # first\nmodels:\n  - name: a\n    args: [--x, 'y']\n  - name: b\nlast:\n"
    document = load(text, "f", loader)
    assert document.data == {
        "name": "chat",
        "models": [{"name": "a", "args": ["--x", "y"]}, {"name": "b"}],
        "last": None,
    }
    assert document.mark(("name",)) == Mark("f", 1, 7, "name: chat # first")
    assert document.key_mark(("name",)) == Mark("f", 1, 1, "name: chat # first")
    assert str(document.mark(("models", 0, "args", 1))) == "f:4:17"
    assert str(document.key_mark(("models", 0, "args", 1))) == "f:4:17"
    assert str(document.mark(("models", 1))) == "f:5:5"
    assert str(document.mark(("last",))) == "f:6:6"
    assert str(document.mark(())) == "f:1:1"


def test_what_is_not_there_is_placed_at_its_nearest_ancestor() -> None:
    document = load("models:\n  - name: a\n", "f")
    assert document.mark(("models", 0, "source")) == document.mark(("models", 0))
    assert document.mark(("models", 7, "adapters", 0, "name")) == document.mark(("models",))
    assert document.key_mark(("router", "port")) == document.mark(())
    assert Document("f", None, {}).mark(("any",)) == Mark("f", 1, 1)


def test_unquoted_scalars_are_kept_as_written() -> None:
    document = load("a: 1.10\nb: '1.10'\nc: ~\nd: on\ne: [1.0e+3]\n", "f")
    assert document.data == {"a": 1.1, "b": "1.10", "c": None, "d": "on", "e": [1000.0]}
    assert document.written == {("a",): "1.10", ("c",): "~", ("d",): "on", ("e", 0): "1.0e+3"}
    assert document.switches == (("d",),)


def test_every_problem_of_a_file_is_told_at_once_and_the_rest_is_read() -> None:
    text = "a: &x 1\na: 2\nb: *x\nc: 12:30\nd: !t v\n1: e\n? [f]\n: g\n<<: *x\nh: 0x10\ni: 2026-01-01\nj: 010\n"
    document = load(text, "f")
    assert document.data == {"a": 1, "b": None, "c": "12:30", "d": "v", "h": "0x10", "i": "2026-01-01", "j": "010"}
    assert [str(problem.mark) for problem in document.problems] == [
        "f:1:4", "f:3:4", "f:4:4", "f:5:4", "f:6:1", "f:7:3", "f:9:1", "f:10:4", "f:11:4", "f:12:4",
    ]  # fmt: skip
    with pytest.raises(ManifestError) as caught:
        document.sound()
    assert caught.value.problems == document.problems


def test_a_sound_document_is_itself() -> None:
    document = load("a: 1\n", "f")
    assert document.sound() is document


def test_a_word_that_is_written_twice_keeps_its_first_value_and_place() -> None:
    document = load("a: {b: 1}\nc: 2\na: {d: [3, {e: 4}]}\nc: 5\nf: 6\n", "f")
    assert document.data == {"a": {"b": 1}, "c": 2, "f": 6}
    assert str(document.mark(("a",))) == "f:1:4"
    assert problems("a: 1\n\na: 2\n") == ["f:3:1: a: duplicate key 'a'; the first is at line 1; keep one"]


def test_a_word_in_quotes_may_be_anything() -> None:
    document = load("'on': 1\n\"1\": 2\n'<<': 3\n'': 4\n", "f")
    assert document.data == {"on": 1, "1": 2, "<<": 3, "": 4}
    assert document.problems == ()


@pytest.mark.parametrize("word", ["on", "1", "~", "true", "1.5", "12:30", "2026-01-01", "0x1"])
def test_a_word_that_is_no_text_to_some_reader_is_a_problem(word: str) -> None:
    assert [said.partition("; ")[0].rpartition(": ")[2] for said in problems(f"{word}: x")] == [
        f"the key '{word}' is not text to every YAML reader"
    ]


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n", "---\n", "~", "--- # x\n...\n"])
def test_an_empty_file_says_so(text: str) -> None:
    assert problems(text) == ["f:1:1: the file is empty"]


@pytest.mark.parametrize("text", ["[1, 2]", "- a\n", "text", "42", "'quoted'"])
def test_a_document_may_hold_anything(text: str) -> None:
    assert load(text, "f").data == yaml.safe_load(text)


def test_a_second_document_is_a_problem_and_an_end_mark_is_none() -> None:
    assert problems("---\na: 1\n...\n") == []
    assert problems("a: 1\n---\nb: 2\n") == [
        "f:2:1: a second document begins here; needed: one document; remove the '---'"
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_any_line_end_counts_alike(end: str) -> None:
    document = load(f"a: 1{end}{end}b:{end}  - c{end}", "f")
    assert document.data == {"a": 1, "b": ["c"]}
    assert document.mark(("b", 0)) == Mark("f", 4, 5, "  - c")


def test_a_byte_order_mark_at_the_beginning_is_no_part_of_the_text() -> None:
    document = load_bytes(b"\xef\xbb\xbfa: 1\n", "f")
    assert (document.data, document.mark(("a",))) == ({"a": 1}, Mark("f", 1, 4, "a: 1"))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_is_named(encoding: str) -> None:
    marks = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}
    with pytest.raises(ManifestError, match="the file is UTF-16; save it as UTF-8"):
        load_bytes(marks.get(encoding, b"") + "a: 1".encode(encoding), "f")


def test_bytes_that_are_no_utf_8_are_placed() -> None:
    with pytest.raises(ManifestError) as caught:
        load_bytes("é: 1\n# ".encode() + b"caf\xe9 \n", "f")
    assert str(caught.value).splitlines()[0] == "f:2:6: the byte 0xe9 is not UTF-8; save the file as UTF-8"


@pytest.mark.parametrize(
    "char", ["\0", "\x07", "\x1b", "\x7f", "\x85", "\u2028", "\u2029", "\ud800", "\u202e", "\u2066", "\ufeff", "\uffff"]
)
def test_a_character_that_cannot_be_seen_is_placed_and_named(char: str) -> None:
    assert problems(f"a: 1\nb: x{char}y\n") == [f"f:2:5: the character U+{ord(char):04X} is invisible; remove it"]


def test_of_many_invisible_characters_the_first_are_named() -> None:
    assert len(problems("\0" * 1000)) == MAX_STRAYS


def test_a_no_break_space_an_emoji_and_any_script_are_text() -> None:
    assert load("a: x\u00a0y 🦙\n日本: ok\n", "f").data == {"a": "x\u00a0y 🦙", "日本": "ok"}


@pytest.mark.parametrize("escape", ["\\0", "\\x00", "\\u0000"])
def test_an_escape_for_nul_is_a_problem(escape: str) -> None:
    assert problems(f'a: "x{escape}y"') == [
        "f:1:4: a: an escape for the character U+0000; no process can be given it; remove it"
    ]
    assert len(problems(f'"x{escape}": 1')) == 1


@pytest.mark.parametrize("loader", LOADERS)
@pytest.mark.parametrize("text", ["[" * 1000, "[" * 1000 + "]" * 1000, "{a: " * 1000, "- " * 1000, "? " * 1000])
def test_endless_nesting_is_refused(text: str, loader: Any) -> None:
    with pytest.raises(ManifestError, match=r"nested|plain text"):
        load(text, "f", loader).sound()


def test_the_nesting_that_is_allowed_is_read() -> None:
    load("[" * MAX_DEPTH + "]" * MAX_DEPTH, "f")
    assert problems("[" * (MAX_DEPTH + 2) + "]" * (MAX_DEPTH + 2)) == [
        f"f:1:{MAX_DEPTH + 2}: nested more than {MAX_DEPTH} deep"
    ]


def test_aliases_cannot_explode() -> None:
    text = "a: &a [x, x]\n" + "".join(f"{b}: &{b} [*{a}, *{a}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True))
    assert len(load(text, "f").problems) == 9 + 16
    assert problems("a: &a [*a]") == [
        "f:1:4: a: an anchor, &a; anchors are not supported; remove it",
        "f:1:8: a[0]: an alias, *a; aliases are not supported; repeat the value",
    ]


def test_a_file_that_is_too_long_is_refused_before_it_is_read() -> None:
    assert problems("# " + "x" * MAX_BYTES) == [
        f"f:1:1: the file has {MAX_BYTES + 2:,} characters; needed: at most {MAX_BYTES:,}"
    ]


def test_of_endless_problems_the_first_are_told() -> None:
    assert len(problems("[" + "0x1," * 1000 + "]")) == MAX_PROBLEMS


@pytest.mark.parametrize("loader", LOADERS)
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [1, 2\nb: 3", "f:2:2: an unclosed list; the [ is at line 1; needed: , or ]"),
        ("a:\n  {b: 1\nc: 2}\nd: 3", None),
        ("a: 'x", "f:1:6: an unclosed quote; it is opened at line 1"),
        ("a: b: c", "f:1:5: an unexpected colon; is a colon missing above"),
        ("a:\n\tb: 1", "f:2:1: a tab in the indentation; YAML indents with spaces only"),
        ("a:\n  b: 1\n \tc: 1", "f:3:2: a tab in the indentation; YAML indents with spaces only"),
        ("a: @b", "f:1:4: text cannot begin with this character; put text in quotes"),
        ("a: `b`", "f:1:4: text cannot begin with this character; put text in quotes"),
        ('a: "\\d"', "an escape that YAML does not know"),
        ('a: "\\xZZ"', "an escape that YAML does not know"),
        ("a:\n  - b\n  c: d", "f:3:3: "),
        ("a:\n   b: 1\n  c: 2", "f:3:3: inconsistent indentation"),
        ("a: - b", "f:1:4: a '- ' where no list can be"),
        ("a: * b", "f:1:5: a * or & without a name; put text in quotes"),
        ("a: &\n", "a * or & without a name; put text in quotes"),
        ("a: [1, 2", None),
        ("%YAML 9.9\n---\na: 1", None),
        ("a: !<x", None),
        ("a: |9z\n", None),
    ],
)
def test_yamls_complaints_are_in_words_and_placed(text: str, said: str | None, loader: Any) -> None:
    """Where `said` is None the two parsers differ, and any located problem will do."""
    with pytest.raises(ManifestError) as caught:
        load(text, "f", loader).sound()
    assert (said or "f:") in str(caught.value)
    assert all(problem.mark and problem.mark.file == "f" for problem in caught.value.problems)
