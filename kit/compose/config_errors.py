"""Why Docker Compose refuses a project's files, in words and at the line that it means. Pure.

Compose stops at its first error, names a path at best, and quotes values: those of variables are taken out again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import yaml

from kit.errors import KeyPath, Mark, Problem

Texts = Mapping[Path, str]

SHORTEST = 3  # characters of a value that is taken out
_SECTION = r"(?:services|networks|volumes|secrets|configs)"
_UNSET = re.compile(r"required variable (\w+) is missing a value: (.*)", re.DOTALL)
_ENV_FILE = re.compile(r"failed to read (.+?): line (\d+): ([^\"]*)")
_LINE = re.compile(r"yaml: (?:unmarshal errors:\s*)?(?:while [^:]*: )?line (\d+): (.*)", re.DOTALL)
_EXTRA = re.compile(rf"({_SECTION}\S*) Additional property (\S+) is not allowed")
_PATH = re.compile(rf"'?(?<![\w./-])({_SECTION}(?:[.\[][^\s:']+)+)'?")
_SERVICE = re.compile(r'service "([^"]+)"')
_NOISE = re.compile(
    r"^time=.*$\n?|decoding failed due to the following error\(s\):\s*|validating \S+: |: invalid compose project"
    r"|error (?:while interpolating|decoding) |failed to cast to expected type: ",
    re.MULTILINE,
)


def problem_of(said: str, texts: Texts, variables: Mapping[str, str]) -> Problem:
    """What Compose `said` on standard error when it refused the files with these `texts`."""
    if found := _ENV_FILE.search(said):
        return Problem(f"{found[1]} cannot be read", f"line {found[2]}: {found[3].strip()}")
    words = " ".join(_NOISE.sub("", without_values(said, texts, variables)).split())
    path = _path(said)
    if found := _UNSET.search(without_values(said, texts, variables)):
        return placed(Problem(f"{found[1]} is not set", found[2].strip(), f"export {found[1]}=..."), path, texts)
    if (found := _LINE.search(said)) and (file := _broken(texts)):
        mark = _mark(file, texts[file], int(found[1]), 1)
        return Problem("Docker Compose cannot read the file", " ".join(found[2].split()), mark=mark)
    return placed(Problem("Docker Compose refuses the file", words or "it does not say why"), path, texts)


def without_values(said: str, texts: Texts, variables: Mapping[str, str]) -> str:
    """The same text with the values of variables, which may be secrets, replaced by their names."""
    names = sorted(variables, key=lambda name: len(variables[name]), reverse=True)
    for name in names:
        value = variables[name]
        if len(value) >= SHORTEST and not any(value in str(path) for path in texts):
            said = said.replace(value, f"${{{name}}}")
    return said


def _path(said: str) -> str:
    if found := _EXTRA.search(said):
        return f"{found[1]}.{found[2]}"
    if found := _PATH.search(said):
        return found[1].rstrip(".")
    found = _SERVICE.search(said)
    return f"services.{found[1]}" if found else ""


def _broken(texts: Texts) -> Path | None:
    """The first file that is no YAML; of one file, it."""
    for file, text in texts.items():
        try:
            yaml.compose(text, yaml.SafeLoader)
        except (yaml.YAMLError, ValueError):
            return file
    return next(iter(texts)) if len(texts) == 1 else None


def placed(problem: Problem, path: str | KeyPath, texts: Texts) -> Problem:
    """The problem at the line of the last file that has `path`, or most of it."""
    steps = path if isinstance(path, tuple) else tuple(re.sub(r"\[([^]]*)\]", r".\1", path).split(".")) if path else ()
    best: tuple[KeyPath, Mark | None] = (), None
    for file, text in texts.items():
        keys, node = _follow(text, ".".join(map(str, steps)))
        if node is not None and len(keys) > 1 and len(keys) >= len(best[0]):
            best = keys, _mark(file, text, node.start_mark.line + 1, node.start_mark.column + 1)
    shown = steps if isinstance(path, tuple) else best[0] or steps
    return replace(problem, path=shown, mark=best[1])


def _mark(file: Path, text: str, line: int, column: int) -> Mark:
    lines = text.splitlines()
    return Mark(file.name, line, column, lines[line - 1] if line <= len(lines) else "")


def _follow(text: str, path: str) -> tuple[KeyPath, yaml.Node | None]:
    """The keys of a dotted path as far as the text has them, and the last one's node; a key may have dots itself."""
    keys: list[str | int] = []
    place: yaml.Node | None = None
    try:
        node = _root(text)
        while path and (found := [each for each in _entries(node) if f"{path}.".startswith(f"{each[0]}.")]):
            key, place, node = max(found, key=lambda each: len(str(each[0])))
            keys, path = [*keys, key], path[len(str(key)) + 1 :]
    except (yaml.YAMLError, ValueError, RecursionError):
        return (), None
    return tuple(keys), place


@lru_cache(4)
def _root(text: str) -> yaml.Node | None:
    return yaml.compose(text, yaml.SafeLoader)


def _entries(node: yaml.Node | None) -> Iterator[tuple[str | int, yaml.Node, yaml.Node]]:
    """Key or index, the node that stands for it, and its value; keys of a merge come last."""
    if isinstance(node, yaml.SequenceNode):
        yield from ((index, item, item) for index, item in enumerate(node.value))
    if isinstance(node, yaml.MappingNode):
        yield from ((str(key.value), key, value) for key, value in node.value if key.value != "<<")
        for merged in (value for key, value in node.value if key.value == "<<"):
            for one in merged.value if isinstance(merged, yaml.SequenceNode) else [merged]:
                yield from _entries(one)
