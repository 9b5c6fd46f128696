"""Values as lines of YAML for people: text without quotes wherever YAML 1.1, YAML 1.2 and Compose's reader take it for
the same text, short lists in one line, long text over several.

What is plain is decided by what is allowed, not by what is forbidden: a text with any other character gets quotes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import yaml

from kit.stack.model import Secret

WIDTH = 120

# Letters, digits and what has no meaning inside a plain text: a space or a colon only with such a character behind it.
# Inside [] and {} a comma, a bracket or a question mark would end the text.
_FLOW = r"-A-Za-z0-9_./@+=~$*();|&!<>%^"
_BRACKETS = r",?{}\[\]'"
_BEGIN = r"(?:[A-Za-z0-9_/$]|-{1,2}[A-Za-z0-9]|\.{1,2}/|\.[A-Za-z]|~/)"
_PLAIN_IN_FLOW, _PLAIN = (re.compile(rf"{_BEGIN}(?:[{c}]|[ :](?=[{c}]))*") for c in (_FLOW, _FLOW + _BRACKETS))
# What one of the readers takes for something else than text: booleans in all their words, null, the merge key, numbers
# in any base (1_000, 0o7, 1e3, and 1:30 in base 60) and dates.
_OTHER = re.compile(
    r"y|n|yes|no|on|off|true|false|null|~|<<|=|[-+]?\.(?:inf|nan)|[-+]?0[box][0-9a-f_]+|\d{4}-\d\d?-\d\d?.*"
    r"|[-+]?(?:[0-9][0-9_]*\.?|\.[0-9])[0-9_]*(?:e[-+]?[0-9_]+)?|[-+]?[0-9_]+(?::[0-9_]+)+(?:\.[0-9_]*)?",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Alias:
    """`*name`: whatever `&name` marks."""

    name: str


@dataclass(frozen=True)
class Anchored:
    """`value`, marked with `&name`."""

    name: str
    value: Node


@dataclass(frozen=True)
class Flow:
    """A list or a mapping in one line: where that fits, or `always`."""

    value: Node
    always: bool = False


@dataclass(frozen=True)
class Arguments:
    """A list of arguments: each flag with its values in a line of its own."""

    items: tuple[Node, ...]


Node: TypeAlias = (
    "str | int | Secret | Alias | Anchored | Flow | Arguments | Mapping[str, Node] | Sequence[Node] | None"
)


def lines(keys: Mapping[str, Node], indent: int = 0) -> list[str]:
    """The lines of a mapping, a key after the other."""
    return [line for key, value in keys.items() for line in _entry(f"{' ' * indent}{_key(key, value)}:", value, indent)]


def scalar(value: Node, flow: bool = True) -> str:
    """One scalar on one line; `flow`: it may stand between brackets. A Secret prints as `${NAME:?why}`."""
    match value:
        case bool():
            return "true" if value else "false"
        case Alias():
            return f"*{value.name}"
        case Secret():
            return _written(f"${{{value.name}:?{value.why}}}" if value.required else f"${{{value.name}:-}}", flow)
        case str():
            return _written(value, flow)
    return str(value)


def rows(items: Sequence[Node]) -> list[list[Node]]:
    """Arguments in rows for the eye: a flag with its values behind it, or anything else alone."""
    found: list[list[Node]] = []
    for item in items:
        if not found or is_flag(item) or not is_flag(found[-1][0]):
            found.append([])
        found[-1].append(item)
    return found


def is_flag(item: Node) -> bool:
    return isinstance(item, str) and item.startswith("--")


def _key(key: str, value: Node) -> str:
    """`<<` is the merge key where aliases are merged, and text anywhere else."""
    inner = value.value if isinstance(value, Flow) else value
    merged = inner if isinstance(inner, list) else [inner]
    return key if key == "<<" and all(isinstance(one, Alias) for one in merged) else scalar(key)


def _entry(start: str, value: Node, indent: int) -> list[str]:
    """The lines of what belongs to `start`, which is `key:` or `-`: behind it or, deeper, below it."""
    match value:
        case None:
            return [start]
        case Anchored():
            return _entry(f"{start} &{value.name}", value.value, indent)
        case Flow():
            line = f"{start} {_flow(value.value)}"
            fits = len(line) <= WIDTH and not _has_long_text(value.value, indent)
            return [line] if fits or value.always else _entry(start, value.value, indent)
        case Arguments():
            return _entry(start, value.items, indent) if _has_long_text(value.items, indent) else _table(start, value)
        case Mapping():
            return [start, *lines(value, indent + 2)]
        case list() | tuple():
            return [start, *(line for item in _alike(value, indent + 2) for line in _item(item, indent + 2))]
        case str():
            return _text(start, value, indent + 2)
    return [f"{start} {scalar(value, flow=False)}"]


def _alike(items: Sequence[Node], indent: int) -> list[Node]:
    """A list's items: where one of the mappings does not fit in a line, none of them is in one."""
    fit = all(len(_flow(item)) <= WIDTH - indent - 2 for item in items if isinstance(item, Flow))
    return [item.value if isinstance(item, Flow) and not fit else item for item in items]


def _item(value: Node, indent: int) -> list[str]:
    """The lines of a list's item; a mapping's first key is behind the dash."""
    dash, *more = _entry(f"{' ' * indent}-", value, indent)
    mapping = isinstance(value.value if isinstance(value, Flow) else value, Mapping)
    return [f"{dash} {more[0].lstrip()}", *more[1:]] if mapping and more else [dash, *more]


def _table(start: str, value: Arguments) -> list[str]:
    """A list between brackets, a row a line; a row that is too long goes on in the next line, deeper. The last bracket
    is deeper than the key, as YAML 1.2 wants it: editors warn otherwise."""
    indent = len(start) - len(start.lstrip())
    found = [f"{start} ["]
    for row in rows(value.items):
        line = " " * (indent + 1)
        for text in (f" {_flow(item)}," for item in row):
            if line.strip() and len(line + text) > WIDTH:
                found.append(line)
                line = " " * (indent + 5)
            line += text
        found.append(line)
    return [*found, f"{' ' * (indent + 2)}]"]


def _flow(value: Node) -> str:
    match value:
        case Flow():
            return _flow(value.value)
        case Mapping():
            return f"{{{', '.join(f'{_key(key, one)}: {_flow(one)}' for key, one in value.items())}}}"
        case list() | tuple():
            return f"[{', '.join(_flow(one) for one in value)}]"
    return scalar(value)


def _text(start: str, text: str, indent: int) -> list[str]:
    """A text behind `start`; of several lines, or too long for one, in a block below it."""
    line, block = f"{start} {scalar(text, flow=False)}", _block(text, WIDTH - indent)
    if not block or (len(line) <= WIDTH and "\n" not in text):
        return [line]
    return [f"{start} {block[0]}", *(f"{' ' * indent}{one}".rstrip() for one in block[1:])]


def _has_long_text(value: Node, indent: int) -> bool:
    """Whether a list holds a text that is better read in a block of its own."""
    texts = [one for one in value if isinstance(one, str)] if isinstance(value, (list, tuple)) else []
    long = (one for one in texts if "\n" in one or len(scalar(one)) > WIDTH - indent - 4)
    return any(_block(one, WIDTH) for one in long)


def _block(text: str, width: int) -> list[str]:
    """The header and the lines of a block that reads as `text`: literal where it has lines, else folded at its spaces.
    Empty where neither gives it back as it is, or looks like it."""
    found = text.removesuffix("\n").split("\n")
    if not all(line.isascii() and line.isprintable() and line == line.rstrip() for line in found):
        return []
    if not found[0] or found[0][0] == " " or not found[-1]:
        return []
    if "\n" in text:
        return ["|" if text.endswith("\n") else "|-", *found]
    return [] if "  " in text else [">-", *_folded(text, width)]


def _folded(text: str, width: int) -> list[str]:
    """Lines that a space joins; broken behind a comma or a semicolon where that suffices."""
    clauses = re.split("(?<=[,;]) ", text)
    first, *more = clauses if max(map(len, clauses)) <= width else text.split(" ")
    found = [first]
    for part in more:
        if len(found[-1]) + 1 + len(part) <= width:
            found[-1] += f" {part}"
        else:
            found.append(part)
    return found


def _written(text: str, flow: bool) -> str:
    """Plain where all readers agree; in single quotes where that spares a backslash; else in double quotes."""
    if (_PLAIN_IN_FLOW if flow else _PLAIN).fullmatch(text) and not _OTHER.fullmatch(text):
        return text
    if text.isascii() and text.isprintable() and ('"' in text or "\\" in text):
        return f"""'{text.replace("'", "''")}'"""
    if text.isascii() and text.isprintable():
        return f'"{text}"'
    return yaml.safe_dump(text, default_style='"', width=float("inf"), allow_unicode=True).removesuffix("\n")
