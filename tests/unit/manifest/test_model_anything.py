"""Whatever is given: a manifest, or ManifestError with places; and what is dumped is read again."""

from __future__ import annotations

import json
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from kit.errors import ManifestError
from kit.manifest.model import (
    Manifest,
)
from kit.manifest.yaml_document import Document, load
from tests.support.manifests import ALIKE, MANIFEST_ALIKE, NESTED, manifests, parse


class Quoting(yaml.SafeDumper):
    """Text in double quotes, with everything that is not ASCII escaped."""


Quoting.add_representer(str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"'))


@given(manifests(), st.booleans())
def test_a_manifest_that_is_dumped_and_read_again_is_equal(made: Manifest, flow: bool) -> None:
    text = yaml.dump(made.model_dump(mode="json"), Dumper=Quoting, default_flow_style=flow)
    assert parse(load(text, "f")) == made


def located(error: ManifestError) -> bool:
    return bool(error.problems) and all(problem.mark and problem.what for problem in error.problems)


@given(NESTED | ALIKE | MANIFEST_ALIKE)
def test_any_data_is_a_manifest_or_refused_and_nothing_else_is_raised(data: Any) -> None:
    try:
        parse(Document("f", data, {}))
    except ManifestError as error:
        assert located(error)
        assert str(error)


@given(MANIFEST_ALIKE)
def test_any_text_like_a_manifest_is_one_or_refused_with_one_problem_a_place(data: Any) -> None:
    text = json.dumps(data, ensure_ascii=True, indent=1)
    try:
        document = load(text, "f")
        parse(document)
    except ManifestError as error:
        assert located(error)
        paths = [problem.path for problem in error.problems if problem.path]
        assert len(paths) == len(set(paths))
        marks = [(problem.mark.line, problem.mark.column) for problem in error.problems if problem.mark]
        assert marks == sorted(marks)


@given(NESTED)
def test_parsing_leaves_the_document_as_it_was(data: Any) -> None:
    before = repr(data)
    try:
        parse(Document("f", data, {}))
    except ManifestError as error:
        assert error.problems
    assert repr(data) == before
