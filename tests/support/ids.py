"""No test gets lost: the ids of all tests of an earlier revision, and what replaced those that are gone.

A list of replacements has one line for each: `OLD -> NEW`. OLD is looked up from the most special to the most general,
and NEW may itself be replaced by another line:

    tests/a.py::test_x[1-y] -> tests/b.py::test_z[2]     one id; a NEW without [...] is any of its parameters
    tests/a.py::test_x[*] -> tests/b.py::test_z          the same for all parameters of test_x
    tests/a.py::test_x -> tests/b.py::test_z             with all parameters, which stay as they are
    tests/a.py -> tests/b.py                             all tests of a file
    tests/old/ -> tests/new/                             all tests of a folder
    tests/a.py::test_x -> - why it is gone               only where what it tested was removed

Of several lines for one test all NEWs must exist; of several for a file or a folder, each test must be in one of them.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby

LINE = re.compile(r"(?P<old>[^\s\[]+(?:\[.*\])?) -> (?P<new>\S.*)")
REASON = re.compile(r"- \S+( \S+){2,}")  # a dash and three words
Rules = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Result:
    """How the tests of before fared: `faults` are sentences, one for each id or line that is wrong."""

    kept: int
    replaced: int
    removed: int
    faults: tuple[str, ...]


# ---- ids


def collected(output: str) -> list[str]:
    """The ids in what `pytest --collect-only -q` prints."""
    return [line for line in output.split("\n") if re.match(r"[^\s:]+\.py::", line)]


def function(one: str) -> str:
    """An id without its parameters."""
    return one.partition("[")[0]


def file_of(one: str) -> str:
    return one.partition("::")[0]


def digest(ids: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(sorted(ids)).encode()).hexdigest()


def written(ids: Iterable[str]) -> str:
    """A list of ids as text: a file, its tests, and their parameters below each other."""
    ordered = sorted(set(ids), key=lambda one: (file_of(one), function(one), one))
    lines = [f"# {len(ordered)} ids, sha256 {digest(ordered)}"]
    for file, tests in groupby(ordered, file_of):
        lines.append(file)
        for test, each in groupby(tests, function):
            lines.append(f"  {test.removeprefix(f'{file}::')}")
            lines += [f"    {one.removeprefix(test)}" for one in each if one != test]
    return "\n".join(lines) + "\n"


def read(text: str) -> list[str]:
    """The ids of such a text. Raises ValueError when they are not the ones that its first line counts."""
    head, *lines = text.removesuffix("\n").split("\n")
    ids: list[str] = []
    file = test = ""
    for line in lines:
        if line.startswith("    "):
            ids = ids[:-1] if ids[-1:] == [test] else ids
            ids.append(test + line[4:])
        elif line.startswith("  "):
            test = f"{file}::{line[2:]}"
            ids.append(test)
        else:
            file = line
    if head != f"# {len(ids)} ids, sha256 {digest(ids)}":
        raise ValueError("the list was edited: its first line does not fit its ids")
    return ids


def defined(files: Mapping[str, str]) -> set[str]:
    """The tests, without parameters, that files define."""
    return {f"{file}::{name}" for file, text in files.items() for name in _names(ast.parse(text).body)}


def _names(body: Iterable[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            yield node.name
        elif isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            yield from (f"{node.name}::{name}" for name in _names(node.body))


# ---- replacements


def rules(text: str) -> Rules:
    """OLD -> its NEWs. Raises ValueError for a line that is no replacement, and for a removal without a reason."""
    found: dict[str, tuple[str, ...]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = LINE.fullmatch(line)
        if match is None:
            raise ValueError(f"line {number}: needed: OLD -> NEW, or OLD -> - REASON: {line}")
        if match["new"].startswith("-") and not REASON.fullmatch(match["new"]):
            raise ValueError(f"line {number}: a removal needs its reason in words: {line}")
        found[match["old"]] = (*found.get(match["old"], ()), match["new"])
    return found


def levels(one: str) -> Iterator[str]:
    """What a line may call an id, from the most special to the most general."""
    test, file = function(one), file_of(one)
    yield from (one, f"{test}[*]", test, file) if test != one else (one, file)
    parts = file.split("/")
    yield from ("/".join(parts[:end]) + "/" for end in range(len(parts) - 1, 0, -1))


@dataclass
class Search:
    """Looks for what replaced an id among the present ones; `used` are the lines that were followed."""

    now: frozenset[str]
    rules: Rules
    used: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.functions = {function(one) for one in self.now}

    def missing(self, old: str, before: tuple[str, ...] = ()) -> list[str]:
        """The steps to ids that should be there and are not; [] when `old` is there, replaced or removed."""
        if old in self.now:
            return []
        line = next((level for level in levels(old) if level in self.rules), None)
        if line is None or old in before:
            return [" -> ".join((*before, old))]
        self.used.add(line)
        ends = [self._at(new, line, old, before) for new in self.rules[line]]
        return min(ends, key=len) if "::" not in line else [step for end in ends for step in end]

    def _at(self, new: str, line: str, old: str, before: tuple[str, ...]) -> list[str]:
        if new.startswith("-"):
            return []
        if line in (old, f"{function(old)}[*]"):
            return [] if new in self.functions else self.missing(new, (*before, old))
        carried = "" if "[" in new else old.removeprefix(line)
        return self.missing(new + carried, (*before, old))

    def is_removed(self, old: str) -> bool:
        line = next((level for level in levels(old) if level in self.rules), "")
        news = self.rules.get(line, ()) if old not in self.now else ()
        carried = "" if line == old else old.removeprefix(line)
        return any(new.startswith("-") or ("::" not in line and self.is_removed(new + carried)) for new in news)


def compare(before: Iterable[str], now: Iterable[str], lines: Rules) -> Result:
    """Every id of before must be there, be replaced by what is there, or be removed for a reason."""
    known = tuple(before)
    search = Search(frozenset(now), lines)
    lost = {one: steps for one in known if (steps := search.missing(one))}
    faults = [
        f"vanished: {one}" if step == one else f"replaced by what does not exist: {step}"
        for one, steps in lost.items()
        for step in steps
    ]
    named = {level for one in known for level in levels(one)} | search.used
    unknown = [old for old in lines if old not in named]
    faults += [f"a line for no test of before: {old} -> {new}" for old in unknown for new in lines[old]]
    kept = sum(one in search.now for one in known)
    removed = sum(search.is_removed(one) for one in known)
    return Result(kept, len(known) - kept - removed - len(lost), removed, tuple(faults))
