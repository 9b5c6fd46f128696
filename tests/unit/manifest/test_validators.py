"""Single values of the manifest: what each may be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.manifest import validators
from kit.manifest.validators import Refused
from kit.units import GIB, MIB

GOOD: list[tuple[Callable[[Any], Any], Any, Any]] = [
    (validators.name, "chat", "chat"),
    (validators.name, "a", "a"),
    (validators.name, "qwen2-5-0-5b", "qwen2-5-0-5b"),
    (validators.name, "vllm-chat", "vllm-chat"),
    (validators.name, "fetcher", "fetcher"),
    (validators.name, "x" * 40, "x" * 40),
    (validators.project, "2-models_here", "2-models_here"),
    (validators.device, 0, "0"),
    (validators.device, "none", "none"),
    (validators.device, "MIG-5f1d/1/0", "MIG-5f1d/1/0"),
    (validators.bind, "::0001", "::1"),
    (validators.bind, "10.0.0.7", "10.0.0.7"),
    (validators.variable_name, "_KEY_1", "_KEY_1"),
    (validators.image, "vllm/vllm-openai:v0.26.0", "vllm/vllm-openai:v0.26.0"),
    (validators.image, "localhost:5000/a/b_c.d@sha256:" + "0" * 64, "localhost:5000/a/b_c.d@sha256:" + "0" * 64),
    (validators.image, "monogpu", "monogpu"),
    (validators.key_file, "./secrets/api key", "./secrets/api key"),
    (validators.key_file, "~/key", "~/key"),
    (validators.memory, "256MiB", 256 * MIB),
    (validators.memory, 4 * GIB, 4 * GIB),
    (validators.memory_or_auto, "auto", "auto"),
    (validators.reserve, 0, 0),
    (validators.reserve, "1MiB", MIB),
    (validators.count_or_auto, "auto", "auto"),
    (validators.count_or_auto, "8k", 8192),
    (validators.count_or_auto, 1, 1),
]
BAD: list[tuple[Callable[[Any], Any], Any]] = [
    *((validators.name, text) for text in ("", "A", "-a", "a-", "a_b", "a.b", "7b", "a b", "a\n", "é", "x" * 41)),
    *((validators.name, text) for text in validators.RESERVED),
    *((validators.name, text) for text in ("download-chat", "vllm", "master", "vllm-dp-master")),
    *((validators.project, text) for text in ("", "A", "-a", "_a", "a.b", "a\n", "x" * 41)),
    *(
        (validators.device, value)
        for value in (None, "", "0,1", "all", "cuda:0", "-1", "1000", "nvidia.com/gpu=0", "0\n")
    ),
    *(
        (validators.bind, text)
        for text in ("", "localhost", "1.2.3", "127.0.0.01", "fe80::1%eth0", "[::1]", "1.2.3.4:80")
    ),
    *((validators.variable_name, text) for text in ("", "key", "$KEY", "${KEY}", "1KEY", "KEY\n", "sk-x")),
    *((validators.key_file, text) for text in ("", "key", "sk-x", "./", "./a:b", "/run/$KEY", "./a\nb")),
    *((validators.image, text) for text in ("", "A/b", "a b", "a:b:c", "a@sha256:0", "${IMAGE}", "a\n", "a" * 600)),
    *((validators.memory, value) for value in (0, 16, -1, "16", "255MiB", 0.3, "30%", True, None, "9999TiB", [], "4G")),
    *((validators.reserve, value) for value in (False, 0.0, 512, "1KiB", -5, None)),
    *((validators.count_or_auto, value) for value in (0, -1, 2**31, 32.0, True, None, "many", "AUTO", [], {})),
]


@pytest.mark.parametrize(("check", "value", "found"), GOOD)
def test_a_good_value_is_taken(check: Callable[[Any], Any], value: Any, found: Any) -> None:
    assert check(value) == found


@pytest.mark.parametrize(("check", "value"), BAD)
def test_a_bad_value_is_refused_with_what_was_wrong_and_needed(check: Callable[[Any], Any], value: Any) -> None:
    with pytest.raises(Refused) as caught:
        check(value)
    assert caught.value.what
    assert caught.value.needed


@given(st.text())
def test_the_nearest_name_of_any_text_is_a_name_or_nothing(text: str) -> None:
    near = validators.slug(text)
    taken = (
        near in validators.RESERVED
        or near.startswith("download-")
        or f"{near.upper().replace('-', '_')}_PORT" in validators.PORT_VARIABLES
    )
    assert near == "" or taken or validators.name(near) == near


@pytest.mark.parametrize(
    ("text", "near"),
    [("Qwen/Qwen2.5-0.5B", "qwen-qwen2-5-0-5b"), ("7B chat", "model-7b-chat"), ("日本", ""), ("-a-", "a")],
)
def test_the_nearest_name_is_readable(text: str, near: str) -> None:
    assert validators.slug(text) == near


@pytest.mark.parametrize("check", [validators.variable_name, validators.key_file])
def test_a_refused_key_may_not_be_shown(check: Callable[[str], str]) -> None:
    with pytest.raises(Refused) as caught:
        check("sk-live-123")
    assert caught.value.secret
    assert "sk-live" not in f"{caught.value.what}{caught.value.needed}{caught.value.hint}"


@pytest.mark.parametrize(
    ("address", "loopback"), [("127.0.0.1", True), ("::1", True), ("0.0.0.0", False), ("::", False)]
)
def test_only_a_loopback_address_is_closed_to_others(address: str, loopback: bool) -> None:
    assert validators.is_loopback(address) is loopback


@pytest.mark.parametrize(
    ("value", "words"),
    [(None, "nothing"), (True, "true"), ("a", "'a'"), ({}, "a mapping"), ([], "a list"), ((), "a list"), (1.5, "1.5")],
)
def test_a_value_is_told_in_words(value: Any, words: str) -> None:
    assert validators.shown(value) == words
