"""YAML document -> Manifest. Every problem is reported at once, each at its line.

Single values are checked where their types are declared (fields, validators, managed_args), values against each other
in rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from kit.errors import KeyPath, ManifestError, Problem, quoted
from kit.manifest import rules, validators
from kit.manifest.kubernetes import KubernetesConfig, Toleration
from kit.manifest.model import Adapter, GpuConfig, Manifest, Model, RouterConfig
from kit.manifest.pydantic_errors import KnownKeys, refusals
from kit.manifest.rules import EngineRules
from kit.manifest.validators import Refused
from kit.manifest.yaml_document import Document

_KEYS: KnownKeys = {
    (): tuple(Manifest.model_fields),
    ("gpu",): tuple(GpuConfig.model_fields),
    ("router",): tuple(RouterConfig.model_fields),
    ("kubernetes",): tuple(KubernetesConfig.model_fields),
    ("kubernetes", "tolerations"): tuple(Toleration.model_fields),
    ("models",): tuple(Model.model_fields),
    ("models", "adapters"): tuple(Adapter.model_fields),
}


def parse(document: Document, engines: Mapping[str, EngineRules], default_name: str = "monogpu") -> Manifest:
    """The manifest in `document`, checked against what `engines` can serve. Without `name` it is called `default_name`,
    the folder's, made a valid one.

    Raises ManifestError with everything that is wrong, the document's own problems included, in the file's order."""
    data = _readable(document, {"name": validators.project_of(default_name)})
    manifest, found = _validated(data)
    if found:
        manifest, _ = _validated(_without_faults(data, [path for path, _ in found]))
    if manifest:
        found += rules.broken(manifest, engines)
    problems = _located(document, found)
    if problems or not manifest:
        raise ManifestError(problems)
    return manifest


def _validated(data: Any) -> tuple[Manifest | None, list[tuple[KeyPath, Refused]]]:
    try:
        return Manifest.model_validate(data), []
    except ValidationError as error:
        return None, refusals(error, _KEYS)


def _readable(document: Document, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The document's data over `defaults`. Numbers in args and env become text as written: 1.10 stays 1.10.

    Raises ManifestError when the document is no mapping."""
    if not isinstance(document.data, dict):
        problem = Problem("not a manifest", "needed: a mapping with at least models:", mark=document.mark(()))
        raise ManifestError([*document.problems, problem])
    data = deepcopy({**defaults, **document.data})
    for path, text in document.written.items():
        if len(path) == 4 and path[0] == "models" and path[2] in ("args", "env"):
            values = data["models"][path[1]][path[2]]
            if isinstance(values[path[3]], int | float) and not isinstance(values[path[3]], bool):
                values[path[3]] = text
    return data


def _without_faults(data: dict[str, Any], paths: Iterable[KeyPath]) -> dict[str, Any]:
    """`data` without the values at `paths`, or with a placeholder where one is required: so that the rules can check
    the rest. No rule complains about a placeholder."""
    data = deepcopy(data)
    for number, path in enumerate(paths):
        _replace_fault(data, path, number)
    if not isinstance(data.get("models"), list) or not data["models"]:
        data["models"] = [_placeholder("models")]
    return data


def _replace_fault(data: Any, path: KeyPath, number: int) -> None:
    """The last key of the path counts: a wrong item spoils its whole list, except for a model or an adapter."""
    steps = list(path)
    while steps and isinstance(steps[-1], int) and (len(steps) < 2 or steps[-2] not in ("models", "adapters")):
        steps.pop()
    if not steps:
        return
    for step in steps[:-1]:
        data = data[step]
    key = steps[-1]
    placeholders = {"name": f"unread-{number}", "source": ".", "api_key": "UNREAD", "api_key_file": "./unread"}
    if isinstance(key, int):
        data[key] = _placeholder(f"unread-{number}")
    elif key in placeholders:
        data[key] = placeholders[key]
    elif isinstance(data, dict):
        data.pop(key, None)


def _placeholder(name: str) -> dict[str, str]:
    return {"name": name, "source": "."}


def _located(document: Document, found: Sequence[tuple[KeyPath, Refused]]) -> tuple[Problem, ...]:
    """Refusals and the document's own problems, one a place, in the file's order; a line with a secret is cut."""
    first: dict[object, Problem] = {}
    for problem in (*document.problems, *(_problem(document, *one) for one in found), *_switches(document)):
        first.setdefault(problem.path or problem.what, problem)
    secrets = [document.mark(path) for path, reason in found if reason.secret]
    hidden = {mark.line: mark.column for mark in secrets}
    cut = [_without_secret(problem, hidden) for problem in first.values()]
    return tuple(sorted(cut, key=lambda one: (one.mark.line, one.mark.column) if one.mark else (0, 0)))


def _problem(document: Document, path: KeyPath, reason: Refused) -> Problem:
    mark = document.key_mark(path) if reason.at_key else document.mark(path)
    return Problem(reason.what, reason.needed, reason.hint, path, mark)


def _switches(document: Document) -> Iterator[Problem]:
    """Unquoted on, off, yes and no, except for `off` of keys whose values are only text."""
    for path in document.switches:
        text = document.written[path]
        if path[-1:] not in (("graphs",), ("tools",), ("reasoning",)) or text != "off":
            what = f"{quoted(text)} without quotes is a boolean to some YAML readers and text to others"
            needed = f'needed: "{text}" in quotes, or another value'
            yield Problem(what, needed, path=path, mark=document.mark(path))


def _without_secret(problem: Problem, hidden: Mapping[int, int]) -> Problem:
    mark = problem.mark
    if not mark or mark.line not in hidden:
        return problem
    return replace(problem, mark=replace(mark, text=mark.text[: hidden[mark.line] - 1] + "***"))
