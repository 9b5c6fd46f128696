"""What the logs and messages of other programs mean: patterns with a cause and a fix, and numbers to read. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MOST_READ = 200_000  # characters, from the log's end
LONGEST = 2_000  # characters of a line, or of the lines before it, that are read around what is found
_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


@dataclass(frozen=True)
class Pattern:
    """When `pattern` is found, `cause` is why and `fix` what to do; `{name}` in them is a group of the pattern, or
    what `derived` makes of the groups. One that is `general` is true of many failures and tried after all others.
    What is found counts for nothing where `unless` is found in its line or the two above. `serving` marks what a worker
    says that runs on."""

    pattern: str
    cause: str
    fix: str
    retryable: bool = False
    derived: Callable[[Mapping[str, str]], Mapping[str, str]] | None = None
    general: bool = False
    unless: str = ""
    serving: bool = False

    def find(self, text: str) -> re.Match[str] | None:
        """Where it is said, the first time."""
        found = re.finditer(self.pattern, text, re.MULTILINE)
        return next((one for one in found if not self.unless or not re.search(self.unless, _context(one))), None)


@dataclass(frozen=True)
class Explanation:
    """What a log means; `line` is the line that says so."""

    cause: str
    fix: str
    retryable: bool
    line: str = ""


def first(patterns: Sequence[Pattern], text: str) -> Explanation | None:
    """The first pattern that is found in the last part of `text`, explained."""
    read = _COLOUR.sub("", text[-MOST_READ:])
    for one in sorted(patterns, key=lambda each: each.general):
        if match := one.find(read):
            found = {name: value or "" for name, value in match.groupdict().items()}
            found |= one.derived(found) if one.derived else {}
            line = _context(match).rsplit("\n", 1)[-1].strip()
            return Explanation(_filled(one.cause, found), _filled(one.fix, found), one.retryable, line)
    return None


def _context(match: re.Match[str]) -> str:
    """What was found, with its line and the two above, as far as they are of common length."""
    before = match.string[max(0, match.start() - LONGEST) : match.start()]
    after = match.string[match.end() : match.end() + LONGEST]
    return "\n".join(before.split("\n")[-3:]) + match.group() + after.split("\n", 1)[0]


def _filled(sentence: str, found: Mapping[str, str]) -> str:
    """`{name}` of a group is replaced; any other brace is the sentence's own. What a group without a match leaves, such
    as `()`, goes."""
    text = re.sub(r"\{(\w+)\}", lambda name: found.get(name.group(1), name.group()), sentence)
    text = re.sub(r"\s*\(\s*\)|:\s*(?=$|[,;])", "", re.sub(r"\s+(?=[,;:)]|\.(?:\s|$)|\s|$)", "", text))
    return text.strip()


@dataclass(frozen=True)
class LogFacts:
    """Numbers that vLLM logs while it starts: GiB with two decimals, tokens and seconds; None where it logs none. Graph
    memory is a difference of the whole card: with neighbours it is meaningless, even negative."""

    version: str | None = None
    weights_gib: float | None = None
    kv_tokens: int | None = None
    kv_gib: float | None = None
    graphs_gib: float | None = None
    concurrency: float | None = None
    compile_seconds: float | None = None
    start_seconds: float | None = None


_NUMBERS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "version": (r"(?:version |LLM engine \(v)(\d+\.\d+\.\d+\S*?)[\s)]", str),
    "weights_gib": (r"Model loading took ([\d.]+) GiB", float),
    "kv_tokens": (r"KV cache size: ([\d,]+) tokens", lambda text: int(text.replace(",", ""))),
    "kv_gib": (r"Available KV cache memory: (-?[\d.]+) GiB", float),
    "graphs_gib": (r"Graph capturing finished in \d+ secs, took (-?[\d.]+) GiB", float),
    "concurrency": (r"Maximum concurrency for [\d,]+ tokens per request: ([\d.]+)x", float),
    "compile_seconds": (r"torch\.compile took ([\d.]+) s", float),
    "start_seconds": (r"init engine \(profile, create kv cache, warmup model\) took ([\d.]+) s", float),
}


def read_log(text: str) -> LogFacts:
    """The last value of each number in a log, which holds every start of its container."""
    found = {name: re.findall(pattern, text) for name, (pattern, _) in _NUMBERS.items()}
    return LogFacts(**{name: _NUMBERS[name][1](values[-1]) for name, values in found.items() if values})
