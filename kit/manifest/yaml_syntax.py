"""What is read as YAML, and what is wrong with the rest.

YAML 1.1 and 1.2 disagree about unquoted scalars, and people expect neither: `12:30` is 750 to one and text to the
other, `010` is 8 or 10, `1_000` is 1000 or text. So only what every reader takes alike is read; the rest is a complaint
that asks for quotes. `on`, `off`, `yes` and `no` stay the text they look like; `is_switch` tells them, for whoever
expects other text there.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import yaml

from kit.errors import Mark, Problem, quoted

Scalar = str | int | float | bool | None

_CONSTANTS: dict[str, Scalar] = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True,
    "false": False, "False": False, "FALSE": False,
}  # fmt: skip
_SWITCHES = {"yes", "Yes", "YES", "no", "No", "NO", "on", "On", "ON", "off", "Off", "OFF"}
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]{0,17})")
# YAML 1.1 wants a sign in an exponent, and none before a leading point.
_FLOAT = re.compile(r"(\.[0-9]+|[-+]?[0-9]+\.[0-9]*)([eE][-+][0-9]{1,3})?")

_TEXT = "put text in quotes"
_ODD = (
    (r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?", f"YAML may count it in sixties, as hours and minutes; {_TEXT}"),
    (r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt \t].*)?", f"YAML may take it for a date; {_TEXT}"),
    (r"[-+]?0[xX][0-9a-fA-F_]+", f"YAML takes it for a hexadecimal number; write it in decimal, or {_TEXT}"),
    (r"[-+]?0[bB][01_]+", f"YAML may take it for a binary number; write it in decimal, or {_TEXT}"),
    (r"[-+]?0o?[0-9_]+", f"a leading 0 makes it an octal number to some readers; write it without, or {_TEXT}"),
    (
        r"[-+]?([0-9][0-9_]*(\.[0-9_]*)?|\.[0-9][0-9_]*)([eE][-+]?[0-9]+)?",
        f"needed: at most 18 plain digits; or {_TEXT}",
    ),
    (r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", f"no number here can be infinite or unknown; {_TEXT}"),
)
_ODD_FORMS = tuple((re.compile(pattern, re.DOTALL), complaint) for pattern, complaint in _ODD)


def is_switch(text: str) -> bool:
    """Whether some YAML readers take the unquoted `text` for true or false, and others for text."""
    return text in _SWITCHES


def resolve(text: str) -> tuple[Scalar, str]:
    """An unquoted scalar -> (its value, a complaint or ""). With a complaint the value is the text as written."""
    if text in _CONSTANTS:
        return _CONSTANTS[text], ""
    if text[0] not in "+-.0123456789":
        return text, ""
    if _INTEGER.fullmatch(text):
        return int(text), ""
    if _FLOAT.fullmatch(text) and abs(number := float(text)) != float("inf"):
        return number, ""
    return text, next((complaint for form, complaint in _ODD_FORMS if form.fullmatch(text)), "")


# ---- errors

_ESCAPE = ("an escape that YAML does not know", "write \\\\ for a backslash in \"...\"; in '...' it needs none")
_INDENT = ("inconsistent indentation", "needed: the indentation of the block that begins at line {line}")
_COLON = "is a colon missing above, or the indentation wrong? text with ': ' goes in quotes"

# Part of PyYAML's message (it has two parsers) -> (what, needed). The first match counts; {line} is where the broken
# block begins.
_KNOWN = (
    ("mapping values are not allowed", "an unexpected colon", _COLON),
    ("could not find expected ':'", "a key without a colon", "needed: key: value"),
    ("',' or ']'", "an unclosed list", "the [ is at line {line}; needed: , or ]"),
    ("',' or '}'", "an unclosed mapping", "the {{ is at line {line}; needed: , or }}"),
    ("end of stream", "an unclosed quote", "it is opened at line {line}"),
    ("escape", *_ESCAPE),
    ("hexdecimal", *_ESCAPE),
    (
        "expected '-' indicator",
        "not an item of the list at line {line}",
        "begin it with '- ', or indent it otherwise",
    ),
    ("entries are not allowed", "a '- ' where no list can be", "put it on its own line, under its key"),
    ("alphabetic or numeric", "a * or & without a name", _TEXT),
    ("expected key", *_INDENT),
    ("<block end>", *_INDENT),
    ("cannot start any token", "text cannot begin with this character", _TEXT),
    ("node content", "something is missing here", "needed: a value, or the end of the list or mapping that is open"),
    ("nesting depth", "nested too deep", "no manifest needs it"),
)


def explain(error: Exception, place: Callable[[int, int], Mark]) -> Problem:
    """What PyYAML raised -> a Problem. `place` makes a Mark of a line and a column that count from 0."""
    at = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    message = getattr(error, "problem", None) or (str(error) if isinstance(error, yaml.YAMLError) else "a wrong escape")
    mark = place(at.line, at.column) if at else place(0, 0)
    if "\t" in mark.text[: -len(mark.text.lstrip()) or None]:
        tab = place(mark.line - 1, mark.text.index("\t"))
        return Problem("a tab in the indentation", "YAML indents with spaces only", mark=tab)
    began = getattr(error, "context_mark", None) or at
    for part, what, needed in _KNOWN:
        if part in message:
            line = began.line + 1 if began else 1
            return Problem(what.format(line=line), needed.format(line=line), mark=mark)
    return Problem(f"YAML cannot read this: {quoted(message)}", mark=mark)
