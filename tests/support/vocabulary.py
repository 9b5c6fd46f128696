"""Words that kit/, templates/ and the documentation do without, and what to write instead.

A lower-case entry is looked for in plain words: names such as `no_mend` and `MendedBy` are taken apart first, and a
phrase may go on in the next line. An entry with a capital letter, a path or a flag is looked for as it is written. Each
entry is a regular expression that must match whole words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FORBIDDEN = {
    # plain words, also as parts of names
    r"mend(s|ed|ing)?": "fix, fixed",
    r"anew": "again; to begin anew: to be recreated",
    r"told": "estimated; reported",
    r"looked": "pilot; checked",
    r"stood": "started; was",
    r"begun": "started",
    r"rungs?": "candidate",
    r"ladders?": "candidates",
    r"wish(es|ed)?": "request, input",
    r"nobody": "no process, no client: name what is missing",
    r"doors?": "proxy, traffic gate",
    r"took seconds": "actual seconds",
    # phrases
    r"stands on": "selected",
    r"gave up": "degraded",
    r"(let|lets|letting) go": "drained",
    r"at rest": "idle",
    r"taken up": "serving",
    r"(unknown|every|each) word": "unknown key, every key",
    r"words? of (the|a|its|your) manifest": "key of the manifest",
    r"a word (that|must|without)": "a key that, a value that",
    r"no word but its own": "no other key",
    r"in a way that passes": "transient failure",
    r"(which|what) it cannot be without": "its dependency",
    r"nothing is lost": "interrupted, and how to resume only where that is possible",
    r"to be aware of": "warnings",
    r"what holds without them": "the defaults",
    r"say it already": "unchanged",
    r"the way through the router": "router overhead",
    r"an engine that is gone": "an engine that died",
    r"how a model remembers": "KV cache layout",
    r"bench (together|split|start)": "bench contention, memory-share, startup",
    # names as they are written
    r"class (Asked|Wish)": "a request, an input",
    r"(class Stand|\w+_stand|stand\.\w+|stand: \w+)": "stack variant",
    r"class Walk": "ExecutionContext",
    r"class Gate": "hooks, TrafficGate",
    r"class Names": "Traffic",
    r"class Words?": "Pattern; Key",
    r"class (Ran|Seen|Took)": "run done, observed, actual",
    r'"ran"': "run done",
    # packages and modules that are gone
    r"kit[./]verbs": "kit.commands",
    r"kit[./]targets": "kit.compose",
    r"kit[./]reading": "kit.manifest",
    r"kit[./]pricing": "kit.memory",
    r"kit[./]known": "kit.diagnostics",
    r"kit[./]checkpoint": "kit.facts",
    r"kit[./]report": "kit.output, kit.bench.html",
    r"kit[./]compose[./]snapshot": "kit.compose.observed",
    r"kit[./]compose[./](steps|turns|judge|bodies)": "operation, rolling, readiness, create_request",
    r"kit[./]compose[./](places|tree|inside|running|looking|held|told)": "yaml node, exec, ps, collect, stats",
    r"kit[./]verify[./](asking|judge|rounds|here)": "client, responses, checks, host_checks",
    r"kit[./]engines[./](fetch|plain)": "download, defaults",
    r"kit[./]routers[./]front": "haproxy",
    r"kit[./]bench[./]experiments[./](together|split|start)": "contention, memory_share, startup",
    # flags
    r"--again": "--fresh",
    r"--levels": "--concurrency",
    r"--restart(?![-=])": "--allow-restart",
}  # fmt: skip
# A space of a phrase: also a line's end with what comments and strings have there.
GAP = r"""(?:[\s#"'*]|\bf")+"""


@dataclass(frozen=True)
class Found:
    """The entry `word` matched `text` in `line` of `file`."""

    word: str
    text: str
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text!r}; write: {FORBIDDEN[self.word]}"


def forbidden(root: Path) -> list[Found]:
    """Every forbidden word in a tree."""
    found = (one for path in texts(root) for one in _found(path.relative_to(root).as_posix(), path.read_text("utf-8")))
    return sorted(found, key=lambda one: (one.file, one.line))


def texts(root: Path) -> list[Path]:
    """The files whose words count: kit/, templates/, README.md and docs/."""
    trees = [path for folder in ("kit", "templates") for path in (root / folder).rglob("*")]
    files = [path for path in (*trees, *(root / "docs").rglob("*.md"), root / "README.md") if path.is_file()]
    return sorted(path for path in files if "__pycache__" not in path.parts)


def _found(file: str, text: str) -> Iterator[Found]:
    plain = taken_apart(text)
    for word in FORBIDDEN:
        where = text if as_written(word) else plain
        for match in re.finditer(pattern(word), where):
            said = " ".join(match.group().split())
            yield Found(word, said, file, where.count("\n", 0, match.start()) + 1)


def as_written(word: str) -> bool:
    return bool(re.search(r'[A-Z"]|^--|^kit\[', word))


def pattern(word: str) -> str:
    """Whole words only."""
    return rf"(?<![\w-]){word}(?![\w-])" if as_written(word) else rf"\b(?:{word.replace(' ', GAP)})\b"


def taken_apart(text: str) -> str:
    """Names as the words they are made of, in lower case; lines stay where they are."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|_|\\n", " ", text).lower()
