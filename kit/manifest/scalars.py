"""What an unquoted YAML scalar is.

YAML 1.1 and 1.2 disagree, and people expect neither: `12:30` is 750 to one and text to the other, `010` is 8 or 10,
`1_000` is 1000 or text. So only what every reader takes alike is read; the rest is a complaint that asks for quotes.
`on`, `off`, `yes` and `no` stay the text they look like; `is_switch` tells them, for whoever expects other text there.
"""

from __future__ import annotations

import re

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

_QUOTE = "put it in quotes when it is text"
_NUMBER_LIKE = r"[-+]?([0-9][0-9_]*(\.[0-9_]*)?|\.[0-9][0-9_]*)([eE][-+]?[0-9]+)?"
_ODD = (
    (r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?", f"YAML may count it in sixties, as hours and minutes; {_QUOTE}"),
    (r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt \t].*)?", f"YAML may take it for a date; {_QUOTE}"),
    (r"[-+]?0[xX][0-9a-fA-F_]+", f"YAML takes it for a hexadecimal number; write it in decimal, or {_QUOTE}"),
    (r"[-+]?0[bB][01_]+", f"YAML may take it for a binary number; write it in decimal, or {_QUOTE}"),
    (r"[-+]?0o?[0-9_]+", f"a leading 0 makes it an octal number to some readers; write it without, or {_QUOTE}"),
    (_NUMBER_LIKE, f"needed: a number of plain digits, at most 18; or {_QUOTE}"),
    (r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", f"no number here can be infinite or unknown; {_QUOTE}"),
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
