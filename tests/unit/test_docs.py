"""docs/how-it-works.md names files that exist, each once, in two paragraphs; the files are what those commands load."""

from __future__ import annotations

import re

import pytest

from tests.support.floors import imports
from tests.support.paths import ROOT

TEXT = (ROOT / "docs" / "how-it-works.md").read_text(encoding="utf-8")
WAYS = {title: body for title, _, body in (part.partition("\n") for part in TEXT.split("\n## ")[1:])}


def named(text: str) -> list[str]:
    return re.findall(r"`((?:kit|templates)/[\w./-]+)`", text)


def reached(module: str) -> set[str]:
    """What a module imports, and what that imports."""
    edges: dict[str, set[str]] = {}
    for each in imports(ROOT):
        edges.setdefault(each.module, set()).add(each.target)
    found, left = {module}, [module]
    while left:
        new = edges.get(left.pop(), set()) - found
        found |= new
        left += new
    return found


def test_each_way_is_one_paragraph_and_no_file_is_named_twice() -> None:
    assert list(WAYS) == ["render", "up, from where render ends"]
    assert all("\n\n" not in body.strip() for body in WAYS.values())
    files = named(TEXT)
    assert len(files) > 60
    assert sorted(files) == sorted(set(files))
    assert [file for file in files if not (ROOT / file).is_file()] == []


@pytest.mark.parametrize(("way", "start"), [*zip(WAYS, ("kit.commands.render", "kit.commands.up"), strict=True)])
def test_every_file_of_a_way_is_reached_from_its_command(way: str, start: str) -> None:
    modules = {file.removesuffix(".py").replace("/", ".").removesuffix(".__init__") for file in named(WAYS[way])}
    assert modules - reached(start) <= {"kit.cli", "templates.docker-compose.yaml.j2"}
