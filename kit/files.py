"""Reading and writing files: a reader sees the old one or the new one, never half, and JSON files carry a version."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from kit.errors import KeyPath, KitError, Mark, Problem

T = TypeVar("T")

VERSION = 1  # of every JSON file that the kit writes; a file without a version is of this one


def write_atomically(path: Path, content: str | bytes, mode: int = 0o644) -> None:
    """Write beside, then rename; text as UTF-8. Raises KitError when the folder cannot be written or is full."""
    beside = path.with_name(f".{path.name}.{uuid4().hex[:8]}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
            file.flush()
            os.fsync(file.fileno())
        beside.chmod(mode)
        beside.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise KitError(f"{path} cannot be written: {error.strerror}; nothing was changed") from None


def read_text(path: Path, needed: str = "", error: type[KitError] = KitError) -> str | None:
    """What a file says, None when there is none. Raises `error` when it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as reason:
        raise error(Problem(f"{path} cannot be read: {reason}", needed)) from None


def versioned_json(adapter: TypeAdapter[T], value: T, *, indent: int = 1, exclude_defaults: bool = False) -> str:
    """A value as the text of a JSON file: one object, its version first."""
    data = json.loads(adapter.dump_json(value, exclude_defaults=exclude_defaults))
    return json.dumps({"version": VERSION, **data}, indent=indent, ensure_ascii=False, allow_nan=False) + "\n"


def parse_versioned(
    adapter: TypeAdapter[T],
    text: str,
    file: str,
    needed: str = "",
    error: type[KitError] = KitError,
    strict: bool = True,
) -> T:
    """The value that `versioned_json` wrote. Unknown keys are ignored, and so is a missing version; where it is not
    `strict`, a number may also be written as text.

    Raises `error` with everything that is wrong, each at its place in `file`; `needed` says what to do about it."""
    try:
        data = json.loads(text)
    except json.JSONDecodeError as reason:
        mark = _mark(file, text, reason.lineno, reason.colno)
        raise error(Problem(f"not JSON: {reason.msg}", needed, mark=mark)) from None
    except (RecursionError, ValueError):
        raise error(Problem("not JSON: nested too deep, or a number too long", needed, mark=Mark(file, 1, 1))) from None
    if not isinstance(data, dict):
        raise error(Problem("not a JSON object", needed, mark=_mark(file, text, 1, 1)))
    version = data.pop("version", VERSION)
    if version != VERSION:
        what = f"its version is {json.dumps(version)}, and this monogpu-kit reads {VERSION}"
        raise error(Problem(what, needed, path=("version",), mark=_place(file, text, ("version",))))
    try:
        return adapter.validate_json(json.dumps(data), strict=strict)
    except ValidationError as reason:
        raise error(_problem(one, data, text, file, needed) for one in reason.errors(include_url=False)) from None


def _problem(one: ErrorDetails, data: Any, text: str, file: str, needed: str) -> Problem:
    """What pydantic found; steps of its path that name a type instead of a place in the data are left out."""
    path: KeyPath = ()
    for step in one["loc"]:
        if step in (data if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ()):
            data, path = data[step], (*path, step)
    if one["type"] == "missing":
        path, what = (*path, one["loc"][-1]), "is missing"
    else:
        said = one["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
        shown = json.dumps(data, ensure_ascii=False)
        what = f"{said}, not {shown}" if said.startswith("must be") and len(shown) <= 60 else said
    return Problem(what, needed, path=path, mark=_place(file, text, path))


def _place(file: str, text: str, path: Sequence[str | int]) -> Mark:
    """Where the file writes the first key of `path`; its beginning where there is none."""
    before = text[: max(text.find(json.dumps(path[0], ensure_ascii=False)), 0)] if path else ""
    return _mark(file, text, before.count("\n") + 1, len(before) - before.rfind("\n"))


def _mark(file: str, text: str, line: int, column: int) -> Mark:
    return Mark(file, line, column, "".join(text.split("\n")[line - 1 : line]))
