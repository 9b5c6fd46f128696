"""The JSON Schema that editors use: valid, complete, and of one mind with `parse`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from hypothesis import given

from kit.errors import ManifestError
from kit.manifest.model import (
    Manifest,
    schema,
)
from kit.manifest.yaml_document import Document, load, load_bytes
from tests.support.manifests import WORDS, manifests, parse
from tests.support.paths import EXAMPLES
from tests.unit.manifest.test_model import FULL

EXAMPLES = sorted(EXAMPLES.glob("*/monogpu.yaml"))
VALIDATOR = jsonschema.Draft202012Validator(schema())


@given(manifests())
def test_the_schema_accepts_every_manifest(made: Manifest) -> None:
    assert list(VALIDATOR.iter_errors(made.model_dump(mode="json"))) == []


def properties(part: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for whole in (part, *part.get("$defs", {}).values()):
        yield from whole.get("properties", {}).items()


def test_the_schema_is_one_by_its_metaschema_and_describes_every_word() -> None:
    made = schema()
    jsonschema.Draft202012Validator.check_schema(made)
    assert made["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert (made["$id"], made["title"], made["required"]) == ("urn:monogpu-kit:manifest", "monogpu.yaml", ["models"])
    assert all(words["description"] for _, words in properties(made))
    assert all(words["title"] for _, words in properties(made) if "$ref" not in words)
    assert {word for word, _ in properties(made)} == {word for word in WORDS if word not in ("x", "<<")}


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"models": []},
        {"models": [{"name": "chat"}]},
        {"models": [{"name": "Chat", "source": "a/b"}]},
        {"models": [{"name": "chat", "source": "a/b", "contxt": 1}]},
        {"models": [{"name": "chat", "source": "a/b", "graphs": False}]},
        {"models": [{"name": "chat", "source": "a/b", "memory": "lots"}]},
        {"models": [{"name": "chat", "source": "a/b", "env": {"A": True}}]},
        {"models": [{"name": "chat", "source": "a/b"}], "router": {"port": "30000"}},
        {"models": [{"name": "chat", "source": "a/b"}], "router": {"policy": "best"}},
    ],
)
def test_the_schema_refuses_what_parse_refuses(data: Any) -> None:
    assert list(VALIDATOR.iter_errors(data))
    with pytest.raises(ManifestError):
        parse(Document("f", data, {}))


def test_the_schema_accepts_the_full_manifest_and_every_example() -> None:
    documents = [load(FULL, "full"), *(load_bytes(path.read_bytes(), str(path)) for path in EXAMPLES)]
    assert [list(VALIDATOR.iter_errors(document.sound().data)) for document in documents] == [[]] * len(documents)
    assert [parse(document).models != () for document in documents] == [True] * len(documents)
