"""Whatever the text or the bytes: a document with right places, or ManifestError."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from kit.errors import KeyPath, ManifestError
from kit.manifest.yaml_document import LOADER, Document, load, load_bytes

LOADERS = [yaml.SafeLoader, LOADER]

# Arbitrary data, and how it may be written.
KEYS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cf", "Zl", "Zp", "Cn", "Co"]), max_size=8)
SCALARS = st.none() | st.booleans() | st.integers(-(10**17), 10**17) | KEYS
DATA = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=20
)
STYLES: list[dict[str, Any]] = [
    {"default_style": '"', "allow_unicode": True, "width": 10**6},
    {"default_flow_style": True, "default_style": "'", "allow_unicode": True, "width": 10**6},
]


def places(data: Any, path: KeyPath = ()) -> Iterator[KeyPath]:
    """Every path of some data, its own included."""
    yield path
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield from places(value, (*path, key))


@given(st.dictionaries(KEYS, DATA, min_size=1), st.sampled_from(LOADERS), st.booleans())
def test_json_is_read_as_it_is_and_every_place_is_right(data: dict[str, Any], loader: Any, indented: bool) -> None:
    text = json.dumps(data, ensure_ascii=False, indent=2 if indented else None)
    document = load(text, "f", loader).sound()
    assert document.data == data
    assert set(document.marks) == set(places(data))
    for path in places(data):
        _holds_at(data, path, document)


def _holds_at(data: Any, path: KeyPath, document: Document) -> None:
    value = data
    for step in path:
        value = value[step]
    mark = document.mark(path)
    rest = mark.text[mark.column - 1 :]
    opening = (
        "{" if isinstance(value, dict) else "[" if isinstance(value, list) else json.dumps(value, ensure_ascii=False)
    )
    assert rest.startswith(opening)
    if path and isinstance(path[-1], str):
        word = document.key_mark(path)
        assert word.text[word.column - 1 :].startswith(json.dumps(path[-1], ensure_ascii=False))


PIECES = [
    "a", "b: ", "- ", "\n", "\n  ", "\n    ", ": ", "[", "]", "{", "}", ", ", "'", '"', "#", " ", "\t", "\r", "\r\n",
    "&x ", "*x", "!t ", "!!str ", "<<: ", "? ", "|\n", ">-\n", "---\n", "...\n", "%YAML 1.1\n", "@", "`", "=", "\0",
    "1", "12:30", "0x1", "2026-01-01", "1e5", ".inf", "on", "~", "\\", "\\x", "\\UFFFFFFFF", "\ufeff", "é", "🦙",
]  # fmt: skip
YAMLISH = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)


@given(YAMLISH | st.text(), st.sampled_from(LOADERS))
@example('"\\UFFFFFFFF"', yaml.SafeLoader)
@example('"\\ud800"', yaml.SafeLoader)
def test_any_text_is_read_or_refused_and_nothing_else_is_raised(text: str, loader: Any) -> None:
    try:
        document = load(text, "f", loader)
    except ManifestError as error:
        assert error.problems
        assert all(problem.mark for problem in error.problems)
        return
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for mark in (*document.marks.values(), *document.key_marks.values()):
        assert mark.text == (lines[mark.line - 1] if mark.line <= len(lines) else "")
        assert 1 <= mark.column <= len(mark.text) + 1


@given(YAMLISH.filter(lambda text: "?" not in text))
def test_both_parsers_give_the_same_data_and_places(text: str) -> None:
    """Save for the place of a value that is not there, behind a `?`."""
    found = []
    for loader in LOADERS:
        try:
            document = load(text, "f", loader)
            found.append((document.data, document.marks, document.key_marks, document.problems))
        except ManifestError:
            return
    assert found[0] == found[1]


@given(st.binary())
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        load_bytes(data, "f")
    except ManifestError as error:
        assert all(problem.mark for problem in error.problems)


@given(st.dictionaries(KEYS, DATA, min_size=1))
def test_what_pyyaml_dumps_is_read_back(data: dict[str, Any]) -> None:
    for style in STYLES:
        text = yaml.dump(_texts(data), **style)
        assert load(text, "f").data == _texts(data)


def _texts(data: Any) -> Any:
    """The same data with every scalar as text, since a default style tags what is none."""
    if isinstance(data, dict):
        return {str(key): _texts(value) for key, value in data.items()}
    return [_texts(value) for value in data] if isinstance(data, list) else str(data)
