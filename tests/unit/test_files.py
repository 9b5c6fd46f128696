"""Files: written whole or not at all, and JSON with a version."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest
from pydantic import TypeAdapter

from kit.errors import KitError, ModelFilesError
from kit.files import parse_versioned, read_text, versioned_json, write_atomically


@dataclass(frozen=True)
class Page:
    words: tuple[str, ...]
    size: int = 3
    kind: Literal["left", "right"] = "left"
    next: Page | None = None


PAGE = TypeAdapter(Page)


def refusal(text: str) -> str:
    with pytest.raises(ModelFilesError) as caught:
        parse_versioned(PAGE, text, "page.json", "write it again", ModelFilesError)
    return str(caught.value)


def test_a_file_is_replaced_whole_with_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    for text in ("old", "ü"):
        write_atomically(path, text, 0o600)
    assert (read_text(path), path.stat().st_mode & 0o777) == ("ü", 0o600)
    assert list(path.parent.iterdir()) == [path]


def test_a_file_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(KitError, match="cannot be written: Is a directory; nothing was changed"):
        write_atomically(tmp_path / "folder", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_file_that_is_missing_or_no_text(tmp_path: Path) -> None:
    assert read_text(tmp_path / "none") is None
    (tmp_path / "bytes").write_bytes(b"\xff")
    with pytest.raises(ModelFilesError, match=r"cannot be read: 'utf-8' codec .*; write it again"):
        read_text(tmp_path / "bytes", "write it again", ModelFilesError)


def test_json_begins_with_its_version_and_is_read_again() -> None:
    page = Page(("a", "ü"), 4, "right", Page(()))
    text = versioned_json(PAGE, page)
    assert text.startswith('{\n "version": 1,\n "words": [\n  "a",\n  "ü"')
    assert parse_versioned(PAGE, text, "page.json") == page
    assert json.loads(versioned_json(PAGE, Page(()), exclude_defaults=True)) == {"version": 1, "words": []}


@pytest.mark.parametrize("text", ['{"words": []}', '{"version": 1, "words": [], "colour": "red"}'])
def test_unknown_keys_and_a_missing_version_do_no_harm(text: str) -> None:
    assert parse_versioned(PAGE, text, "page.json") == Page(())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"words": [],\n "version": 2}', "page.json:2:2: version: its version is 2, and this monogpu-kit reads 1"),
        ("{\n,}", "page.json:2:1: not JSON: Expecting property name"),
        ("[]", "page.json:1:1: not a JSON object; write it again"),
        ('{"words": ' + "9" * 5000 + "}", "page.json:1:1: not JSON: nested too deep, or a number too long"),
        ("{}", "page.json:1:1: words: is missing"),
        ('{"words": [], "next": [{"size": 4}]}', "page.json:1:15: next: "),
        ('{"words":\n ["a", 3]}', "page.json:1:2: words[1]: must be a valid string, not 3; write it again"),
        ('{"words": [],\n "kind": "up"}', "page.json:2:2: kind: must be 'left' or 'right', not \"up\""),
        ('{"words": [],\n "next": {"size": "4"}}', "page.json:2:2: next.words: is missing"),
        ('{"words": [],\n "next": {"size": "4"}}', 'page.json:2:2: next.size: must be a valid integer, not "4"'),
    ],
)
def test_json_that_is_wrong_says_where(text: str, said: str) -> None:
    assert said in refusal(text)
