"""Between a document and the manifest's types: the data as the types take it, and refusals as problems at their
lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

from kit.errors import KeyPath, ManifestError, Mark, Problem, quoted
from kit.manifest.refused import Refused
from kit.manifest.yaml_document import Document

_AS_WRITTEN = ("args", "env")
_LISTED = ("models", "adapters")


def readable(document: Document, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The document's words over `defaults`. Numbers among args and env are text as they were written: 1.10 stays 1.10.

    Raises ManifestError when the document holds no words at all."""
    if not isinstance(document.data, dict):
        problem = Problem(
            "this is no manifest", "needed: a mapping that holds models:, at least", mark=document.mark(())
        )
        raise ManifestError([*document.problems, problem])
    data = {**defaults, **document.data}
    numbers = [path for path in document.written if _is_number_as_text(document.data, path)]
    if not numbers:
        return data
    data["models"] = deepcopy(data["models"])
    for path in numbers:
        data["models"][path[1]][path[2]][path[3]] = document.written[path]
    return data


def _is_number_as_text(data: Any, path: KeyPath) -> bool:
    if len(path) != 4 or path[0] != "models" or path[2] not in _AS_WRITTEN:
        return False
    value = data["models"][path[1]][path[2]][path[3]]
    return isinstance(value, int | float) and not isinstance(value, bool)


def without_faults(data: dict[str, Any], paths: Iterable[KeyPath]) -> dict[str, Any]:
    """`data` without the words at `paths`, or with a stand-in where none may be missing: so that the other words can be
    held against each other. No rule complains about a stand-in."""
    data = deepcopy(data)
    for number, path in enumerate(paths):
        _fix(data, path, number)
    if not isinstance(data.get("models"), list) or not data["models"]:
        data["models"] = [_stand_in("models")]
    return data


def _fix(data: Any, path: KeyPath, number: int) -> None:
    """Of a path, the last step that is a word counts: a wrong item spoils its list, save for a model or an adapter."""
    steps = list(path)
    while steps and isinstance(steps[-1], int) and (len(steps) < 2 or steps[-2] not in _LISTED):
        steps.pop()
    if not steps:
        return
    for step in steps[:-1]:
        data = data[step]
    word = steps[-1]
    stand_ins = {"name": f"unread-{number}", "source": ".", "api_key": "UNREAD", "api_key_file": "./unread"}
    if isinstance(word, int):
        data[word] = _stand_in(f"unread-{number}")
    elif word in stand_ins:
        data[word] = stand_ins[word]
    elif isinstance(data, dict):
        data.pop(word, None)


def _stand_in(name: str) -> dict[str, str]:
    return {"name": name, "source": "."}


def located(document: Document, found: Sequence[tuple[KeyPath, Refused]]) -> tuple[Problem, ...]:
    """Refusals and the document's own problems, one a place, in the file's order; a line that holds a secret is cut."""
    first: dict[object, Problem] = {}
    for problem in (*document.problems, *(_problem(document, *one) for one in found), *_switches(document)):
        first.setdefault(problem.path or problem.what, problem)
    hidden = {mark.line: mark.column for mark in _secret_marks(document, found)}
    cut = [_without_secret(problem, hidden) for problem in first.values()]
    return tuple(sorted(cut, key=_place))


def _problem(document: Document, path: KeyPath, reason: Refused) -> Problem:
    mark = document.key_mark(path) if reason.at_word else document.mark(path)
    return Problem(reason.what, reason.needed, reason.hint, path, mark)


def _switches(document: Document) -> Iterator[Problem]:
    """Unquoted on, off, yes and no. Where `graphs` says off, text is meant, and nothing else can be."""
    for path in document.switches:
        text = document.written[path]
        if path[-1:] == ("graphs",) and text == "off":
            continue
        what = f"{quoted(text)} without quotes is a boolean to some YAML readers and text to others"
        yield Problem(what, f'needed: "{text}" in quotes, or another word', path=path, mark=document.mark(path))


def _secret_marks(document: Document, found: Sequence[tuple[KeyPath, Refused]]) -> Iterator[Mark]:
    return (document.mark(path) for path, reason in found if reason.secret)


def _without_secret(problem: Problem, hidden: Mapping[int, int]) -> Problem:
    mark = problem.mark
    if not mark or mark.line not in hidden:
        return problem
    return replace(problem, mark=replace(mark, text=mark.text[: hidden[mark.line] - 1] + "***"))


def _place(problem: Problem) -> tuple[int, int]:
    return (problem.mark.line, problem.mark.column) if problem.mark else (0, 0)
