"""The commands that README.md and docs/ show, block by block.

A line of a ```bash block, or one behind `$ ` in a ```console block, is a command. A block begins in a copy of
compose/trio-16gb, or of the folder that a comment before it names: `<!-- folder compose/rag -->`, or `empty`. A console
block between `<!-- console FOLDER -->` and `<!-- /console -->` is run by scripts/docs, which also compares the output.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from tests.support.paths import ROOT

FENCE = re.compile(r"((?:<!-- (folder|console) (\S+) -->\n\n)?)^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """The commands of one block of `page`; `generated`: scripts/docs runs it."""

    page: str
    language: str
    folder: str
    generated: bool
    commands: tuple[str, ...]

    @property
    def id(self) -> str:
        return f"{self.page}: {self.commands[0][:40]}"


def pages() -> dict[str, str]:
    files = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    return {file.relative_to(ROOT).as_posix(): file.read_text(encoding="utf-8") for file in files}


def blocks(texts: dict[str, str]) -> list[Block]:
    return [block for page, text in texts.items() for block in _blocks(page, text) if block.commands]


def _blocks(page: str, text: str) -> Iterator[Block]:
    for match in FENCE.finditer(text):
        _, kind, folder, language, body = match.groups()
        lines = re.sub(r"\\\n\s*", "", body).splitlines()
        shown = [line.removeprefix("$ ") for line in lines if language == "bash" or line.startswith("$ ")]
        commands = tuple(line for line in shown if line.strip() and not line.startswith("#"))
        yield Block(page, language, folder or "compose/trio-16gb", kind == "console", commands)


def verb(command: str) -> str:
    """What of a command names the test that runs it: `monogpu-kit up`, `curl`, `scripts/demo`, `docker compose up`."""
    words = shlex.split(command, comments=True)
    if words[0] == "monogpu-kit":
        return " ".join(words[:2])
    return " ".join(words[: 3 if words[:2] == ["docker", "compose"] else 2 if words[0] == "pip" else 1])
