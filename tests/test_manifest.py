"""monogpu.yaml as types: what is read, what is refused and in which words, and that nothing else is ever raised."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kit.document import Document, load, load_bytes
from kit.errors import ManifestError, Mark
from kit.manifest import Adapter, GpuWish, Manifest, Model, Router, Source, parse, schema
from kit.refused import Refused
from kit.units import GIB, MIB

HERE = Path(__file__).parent
BAD = sorted((HERE / "bad").glob("*.yaml"))
EXAMPLES = sorted((HERE.parent / "compose").glob("*/monogpu.yaml"))
ONE = "models: [{name: chat, source: a/b}]\n"


def read(text: str, folder: str = "demo") -> Manifest:
    return parse(load(text, "monogpu.yaml"), folder)


def refused(text: str) -> list[str]:
    """What is said of each problem, without the quoted lines."""
    with pytest.raises(ManifestError) as caught:
        read(text)
    return [str(problem).splitlines()[0] for problem in caught.value.problems]


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_a_bad_manifest_is_refused_in_these_words(path: Path, golden: Callable[[Path, str], None]) -> None:
    with pytest.raises(ManifestError) as caught:
        parse(load_bytes(path.read_bytes(), path.name))
    golden(path.with_suffix(".txt"), f"{caught.value}\n")


def test_there_are_at_least_forty_bad_manifests_and_each_has_its_words() -> None:
    assert len(BAD) >= 40
    assert {path.stem for path in (HERE / "bad").glob("*.txt")} == {path.stem for path in BAD}


def test_six_mistakes_are_six_located_messages_in_the_order_of_the_file() -> None:
    with pytest.raises(ManifestError) as caught:
        parse(load_bytes((HERE / "bad/six-mistakes.yaml").read_bytes(), "monogpu.yaml"))
    assert caught.value.exit_code == 2
    marks = [problem.mark for problem in caught.value.problems]
    assert [mark.line for mark in marks if mark] == [5, 10, 11, 12, 14, 15]
    assert all(str(problem).startswith(f"monogpu.yaml:{problem.mark}"[:13]) for problem in caught.value.problems)
