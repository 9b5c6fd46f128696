"""facts.json beside a manifest: {source text: facts}, so that a plan needs neither network nor weights."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from kit.errors import Mark, ModelFilesError, Problem
from kit.facts.facts import AdapterFacts, Facts, from_json, to_json

AGAIN = "record the facts again, or remove the file"


def read_recorded(path: Path) -> dict[str, Facts]:
    """The models of a facts.json, {} when there is none. Raises ModelFilesError at the line that is wrong."""
    return {source: facts for source, facts in _read(path).items() if isinstance(facts, Facts)}


def read_recorded_adapters(path: Path) -> dict[str, AdapterFacts]:
    """The adapters of a facts.json, {} when there is none. Raises ModelFilesError at the line that is wrong."""
    return {source: facts for source, facts in _read(path).items() if isinstance(facts, AdapterFacts)}


def record(models: Mapping[str, Facts], adapters: Mapping[str, AdapterFacts] | None = None) -> str:
    """The text of a facts.json: sorted by source, a line for each kind of tensor."""
    entries = {source: to_json(facts) for source, facts in models.items()}
    entries |= {source: to_json(facts) for source, facts in (adapters or {}).items()}
    return json.dumps(dict(sorted(entries.items())), indent=1, ensure_ascii=False) + "\n"


def _read(path: Path) -> dict[str, Facts | AdapterFacts]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise ModelFilesError(Problem(f"{path} cannot be read: {error}", AGAIN)) from error
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise ModelFilesError(Problem(error.msg, AGAIN, mark=_mark(path, text, error.lineno, error.colno))) from error
    if not isinstance(data, dict):
        raise ModelFilesError(Problem("not an object of facts by source", AGAIN, mark=_mark(path, text, 1, 1)))
    return {source: _entry(path, text, source, entry) for source, entry in data.items()}


def _entry(path: Path, text: str, source: str, entry: object) -> Facts | AdapterFacts:
    try:
        return from_json(entry)
    except ModelFilesError as error:
        line, column = _place(text, source)
        what = error.problems[0].what
        raise ModelFilesError(Problem(what, AGAIN, path=(source,), mark=_mark(path, text, line, column))) from error


def _place(text: str, source: str) -> tuple[int, int]:
    """Line and column of a source's key, in the file as `record` writes it; the top for any other spelling."""
    at = text.find(json.dumps(source, ensure_ascii=False))
    before = text[: max(at, 0)]
    return before.count("\n") + 1, len(before) - before.rfind("\n")


def _mark(path: Path, text: str, line: int, column: int) -> Mark:
    lines = text.splitlines()
    return Mark(str(path), line, column, lines[line - 1] if line <= len(lines) else "")
