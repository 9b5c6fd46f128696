"""YAML's own complaints in words that say what to do. PyYAML has two parsers that word them apart; both are known."""

from __future__ import annotations

from collections.abc import Callable

import yaml

from kit.errors import Mark, Problem, quoted

_QUOTE = "put the text in quotes"
_COLON = "is a colon missing above, or the indentation wrong? text with ': ' goes in quotes"
_ESCAPE = ("an escape that YAML does not know", "write \\\\ for a backslash in \"...\"; in '...' it needs none")

# part of YAML's message -> (what, needed). The first that is found counts; {line} is where the broken thing began.
_KNOWN = (
    ("mapping values are not allowed", "a colon where none can be", _COLON),
    ("could not find expected ':'", "a word without its colon", "needed: word: value"),
    ("',' or ']'", "a list that is not closed", "the [ is at line {line}; needed: , or ]"),
    ("',' or '}'", "a mapping that is not closed", "the {{ is at line {line}; needed: , or }}"),
    ("end of stream", "a quote that is not closed", "it is opened at line {line}"),
    ("escape", "an escape that YAML does not know", "write \\\\ for a backslash in \"...\"; in '...' it needs none"),
    (
        "hexdecimal",
        "an escape that YAML does not know",
        "write \\\\ for a backslash in \"...\"; in '...' it needs none",
    ),
    (
        "expected '-' indicator",
        "not a list's item",
        "begin it with '- ', or indent it unlike the list at line {line}",
    ),
    ("entries are not allowed", "a '- ' where no list can be", "put it on its own line, under its word"),
    ("alphabetic or numeric", "a * or & without a name", _QUOTE),
    (
        "expected key",
        "indented unlike its neighbours",
        "needed: the indentation of what begins at line {line}",
    ),
    ("<block end>", "indented unlike its neighbours", "needed: the indentation of what begins at line {line}"),
    ("cannot start any token", "text cannot begin with this character", _QUOTE),
    ("node content", "something is missing here", "needed: a value, or the end of the list or mapping that is open"),
    ("nesting depth", "nested too deep", "no word of the manifest needs it"),
)


def explain(error: Exception, place: Callable[[int, int], Mark]) -> Problem:
    """What PyYAML raised -> a Problem. `place` makes a Mark of a line and a column that count from 0."""
    at = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    said = getattr(error, "problem", None) or (str(error) if isinstance(error, yaml.YAMLError) else "a wrong escape")
    mark = place(at.line, at.column) if at else place(0, 0)
    if "\t" in _indentation(mark.text):
        tab = place(mark.line - 1, mark.text.index("\t"))
        return Problem("a tab in the indentation", "YAML indents with spaces only", mark=tab)
    began = getattr(error, "context_mark", None) or at
    for part, what, needed in _KNOWN:
        if part in said:
            return Problem(what, needed.format(line=began.line + 1 if began else 1), mark=mark)
    return Problem(f"YAML cannot read this: {quoted(said)}", mark=mark)


def _indentation(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
