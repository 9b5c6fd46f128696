"""Where a model's files come from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.manifest.fields import Source, parse_source
from kit.manifest.validators import Refused


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("Qwen/Qwen2.5-1.5B-Instruct", Source("hub", "Qwen/Qwen2.5-1.5B-Instruct")),
        ("Qwen/Qwen2.5-1.5B-Instruct@main", Source("hub", "Qwen/Qwen2.5-1.5B-Instruct", "main")),
        (
            "a/b@989aa7980e4cf806f80c7fef2b1adb7bc71aa306",
            Source("hub", "a/b", "989aa7980e4cf806f80c7fef2b1adb7bc71aa306"),
        ),
        ("a/b@refs/pr/1", Source("hub", "a/b", "refs/pr/1")),
        ("0-hero/M_1.x", Source("hub", "0-hero/M_1.x")),
        ("./models/chat", Source("folder", "./models/chat")),
        ("../shared", Source("folder", "../shared")),
        (".", Source("folder", ".")),
        ("/srv/models/a@b c", Source("folder", "/srv/models/a@b c")),
        ("~/models", Source("folder", "~/models")),
        ("~", Source("folder", "~")),
    ],
)
def test_a_source_is_a_folder_or_a_repository_with_its_revision(text: str, source: Source) -> None:
    assert parse_source(text) == source


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("gpt2", "an id has its owner: OWNER/gpt2"),
        ("https://huggingface.co/Qwen/Qwen2.5-0.5B/tree/main", "did you mean Qwen/Qwen2.5-0.5B?"),
        ("hf.co/Qwen/Qwen2.5-0.5B", "did you mean Qwen/Qwen2.5-0.5B?"),
        ("hf://Qwen/Qwen2.5-0.5B", "did you mean Qwen/Qwen2.5-0.5B?"),
        ("models/qwen/small", "a folder is written ./models/qwen/small"),
        ("models/", "a folder is written ./models/"),
        ("C:\\models", "a folder is written with /"),
        (".models", ""),
        ("~user/models", ""),
        ("a/b@", ""),
        ("a/b@-x", ""),
        ("a--b/c..d", ""),
        ("a--b/c", ""),
        ("-a/b", ""),
        ("a/b.", ""),
        ("a/b c", ""),
        ("a/b\n", ""),
        ("", ""),
        ("a" * 60 + "/" + "b" * 60, ""),
    ],
)
def test_anything_else_is_refused_with_what_was_probably_meant(text: str, hint: str) -> None:
    with pytest.raises(Refused) as caught:
        parse_source(text)
    assert caught.value.hint == hint
    assert "needed: " in caught.value.needed


@given(st.text() | st.text("ab/@.-~:", max_size=20))
def test_any_text_is_a_source_or_refused(text: str) -> None:
    try:
        source = parse_source(text)
    except Refused as reason:
        assert reason.what
        return
    assert text == source.place + (f"@{source.revision}" if source.revision else "")
