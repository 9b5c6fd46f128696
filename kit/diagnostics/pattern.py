"""Foreign words -> what they mean: a pattern, a cause and a fix. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

MOST_READ = 200_000  # characters, from the log's end
_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


@dataclass(frozen=True)
class Pattern:
    """When `pattern` is found, `cause` is why and `fix` what to do; `{name}` in them is a group of the pattern, or
    what `derived` makes of the groups."""

    pattern: str
    cause: str
    fix: str
    retryable: bool = False
    derived: Callable[[Mapping[str, str]], Mapping[str, str]] | None = None


@dataclass(frozen=True)
class Explanation:
    """What a log means; `line` is the line that says so."""

    cause: str
    fix: str
    retryable: bool
    line: str = ""


def first(words: Sequence[Pattern], text: str) -> Explanation | None:
    """The first of `words` whose pattern is found in the last part of `text`."""
    read = _COLOUR.sub("", text[-MOST_READ:])
    for word in words:
        if match := re.search(word.pattern, read):
            found = {name: value or "" for name, value in match.groupdict().items()}
            found |= word.derived(found) if word.derived else {}
            line = read[read.rfind("\n", 0, match.end()) + 1 :].split("\n", 1)[0].strip()
            return Explanation(_filled(word.cause, found), _filled(word.fix, found), word.retryable, line)
    return None


def _filled(sentence: str, found: Mapping[str, str]) -> str:
    """`{name}` of a group is replaced; any other brace is the sentence's own."""
    return re.sub(r"\{(\w+)\}", lambda name: found.get(name.group(1), name.group()), sentence).strip()
