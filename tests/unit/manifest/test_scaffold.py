"""What `init` writes: a manifest that is right as it is, and that names every word there is."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
import pytest

from kit.gpu import Gpu, from_size, host
from kit.manifest.model import (
    Manifest,
    schema,
)
from kit.manifest.scaffold import SCHEMA_FILE, Pick, picks, schema_text, starter
from kit.manifest.yaml_document import load
from kit.units import GIB
from tests.support.manifests import parse

CARD = Gpu("NVIDIA GeForce RTX 5080", int(15.47 * GIB), 15 * GIB, uuid="GPU-5080", index=1)
CARDS = {
    "nobody asked": None,
    "a card": CARD,
    "a size": from_size("24GiB"),
    "an odd size": from_size("15.47GiB"),
    "the CPU": host(8 * GIB, 7 * GIB, "asked"),
}


def read(text: str) -> Manifest:
    return parse(load(text, "monogpu.yaml"), "demo")


def with_every_word(text: str) -> str:
    """The starter without the bare # before its words, save one of the two that exclude each other. A # and a space
    begin prose."""
    return re.sub(r"^( *)#(?! |api_key_file)", r"\1", text, flags=re.MULTILINE)


@pytest.mark.parametrize("card", CARDS.values(), ids=CARDS)
def test_it_parses_as_it_is(card: Gpu | None) -> None:
    made = read(starter(card))
    assert [(one.name, one.source) for one in made.models] == [(pick.name, pick.source) for pick in picks(card)]
    assert (made.router.bind, made.router.port) == ("127.0.0.1", 30000)


@pytest.mark.parametrize("card", CARDS.values(), ids=CARDS)
def test_with_every_word_in_it_is_a_manifest_too(card: Gpu | None) -> None:
    text = with_every_word(starter(card))
    document = load(text, "monogpu.yaml").sound()
    jsonschema.Draft202012Validator(schema()).validate(document.data)
    assert parse(document).models[0].adapters[0].name == "code"


def words(part: dict[str, Any]) -> set[str]:
    return {word for whole in (part, *part["$defs"].values()) for word in whole["properties"]}


def test_every_word_of_the_schema_is_in_it() -> None:
    written = set(re.findall(r"(?:^|[ #{,])([a-z_]+):", starter(), flags=re.MULTILINE))
    assert words(schema()) <= written


def test_every_word_is_explained_on_its_line() -> None:
    plain = {"name", "source", "image", "gpu", "router", "models"}
    lines = [line for line in with_every_word(starter()).splitlines() if re.match(r" *(- )?[a-z_]+:", line)]
    bare = [line for line in lines if " # " not in line]
    assert {line.strip(" -").partition(":")[0] for line in bare} <= plain


@pytest.mark.parametrize(
    ("card", "device", "memory"),
    [
        (None, "0", None),
        (CARD, "1", None),
        (from_size("24GiB"), "0", 24 * GIB),
        (from_size("15.47GiB"), "0", int(15.47 * GIB)),
        (host(8 * GIB, 7 * GIB, "asked"), "none", None),
    ],
)
def test_the_card_is_written_as_it_was_given(card: Gpu | None, device: str, memory: int | None) -> None:
    wish = read(starter(card)).gpu
    assert (wish.device, wish.memory) == (device, memory)


@pytest.mark.parametrize(("size", "count"), [("4GiB", 1), ("8GiB", 2), ("15.47GiB", 3), ("23.5GiB", 2), ("80GiB", 3)])
def test_the_models_go_by_the_size_of_the_card(size: str, count: int) -> None:
    assert len(picks(from_size(size))) == count


def test_other_models_may_be_given() -> None:
    mine = [Pick("one", "a/b", "the first"), Pick("two", "./models/two", "the second")]
    made = read(starter(CARD, mine))
    assert [(one.name, one.source) for one in made.models] == [("one", "a/b"), ("two", "./models/two")]


def test_a_cards_name_cannot_break_out_of_its_comment() -> None:
    assert len(read(starter(Gpu("evil\nmodels: []\n#", GIB, GIB, uuid="GPU-1"))).models) == 1


def test_the_editor_finds_the_schema_that_is_written_beside_it() -> None:
    assert starter().splitlines()[0] == f"# yaml-language-server: $schema={SCHEMA_FILE}"
    assert json.loads(schema_text()) == schema()
    assert schema_text().endswith("}\n")


@pytest.mark.parametrize("card", CARDS.values(), ids=CARDS)
def test_no_line_is_wider_than_a_terminal_or_ends_in_a_space(card: Gpu | None) -> None:
    lines = starter(card).splitlines()
    assert max(map(len, lines)) <= 120
    assert [line for line in lines if line != line.rstrip()] == []
