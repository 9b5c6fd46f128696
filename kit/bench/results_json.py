"""Bench <-> the text of bench.json. Pure.

Every field is written, so that a reader in another language needs no defaults. A number that JSON has no word for is
written as the text "NaN", "Infinity" or "-Infinity".
"""

from __future__ import annotations

import json
import math
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from kit.bench.results import VERSION, Bench
from kit.errors import KeyPath, KitError, Mark, Problem, dotted

AGAIN = "measure again with `monogpu-kit bench`, or read it with the monogpu-kit that wrote it"
_NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_SAID = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


class ResultsError(KitError):
    """A benchmark's results are missing, or cannot be read. Exit 2: what was given is wrong."""

    exit_code = 2


def to_text(bench: Bench) -> str:
    """The text of a bench.json. The same value always gives the same bytes."""
    return json.dumps(_plain(bench), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def from_text(text: str, place: str) -> Bench:
    """What a bench.json says; `place` names it in errors.

    Raises ResultsError: no JSON, another version, a field that is missing, unknown, or of another kind."""
    data = _json(text, place)
    if not isinstance(data, dict) or "version" not in data:
        raise _error(place, (), "holds no results of a benchmark: an object with a version")
    if data["version"] != VERSION:
        raise _error(place, ("version",), f"is {json.dumps(data['version'])}, and this monogpu-kit reads {VERSION}")
    try:
        bench: Bench = _value(Bench, data, ())
    except _Wrong as wrong:
        raise _error(place, wrong.path, wrong.what) from None
    return bench


# ---- writing


def _plain(value: Any) -> Any:
    """The same in what JSON knows."""
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


# ---- reading


class _Wrong(Exception):
    """What is wrong, and where; becomes a ResultsError at the top, which knows the file."""

    def __init__(self, path: KeyPath, what: str) -> None:
        super().__init__(what)
        self.path = path
        self.what = what


def _error(place: str, path: KeyPath, what: str) -> ResultsError:
    where = f"{place}: {dotted(path)}" if path else place
    return ResultsError(Problem(f"{where} {what}", AGAIN))


def _json(text: str, place: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        lines = text.split("\n")
        mark = Mark(place, error.lineno, error.colno, lines[error.lineno - 1])
        raise ResultsError(Problem(f"not JSON: {error.msg}", AGAIN, mark=mark)) from None
    except (RecursionError, ValueError):
        raise _error(place, (), "is not the JSON of a benchmark: too deep, or a number too long") from None


def _value(kind: Any, data: Any, path: KeyPath) -> Any:
    """`data` as a value of the type `kind`. Raises _Wrong."""
    if kind is Any:
        return data
    if is_dataclass(kind):
        return _object(kind, data, path)
    options = get_args(kind)
    if get_origin(kind) is Literal:
        return _one_of(options, data, path)
    if get_origin(kind) is tuple:
        return _tuple(options, data, path)
    if get_origin(kind) is dict:
        return {name: _value(options[1], one, (*path, name)) for name, one in _mapping(data, path).items()}
    if NoneType in options:
        (rest,) = (one for one in options if one is not NoneType)
        return None if data is None else _value(rest, data, path)
    return _number(data, path) if kind is float else _scalar(kind, data, path)


def _object(kind: Any, data: Any, path: KeyPath) -> Any:
    given, known = _mapping(data, path), {field.name: field for field in fields(kind)}
    for name in given:
        if name not in known:
            raise _Wrong((*path, name), "is a word that this monogpu-kit does not know")
    for name, field in known.items():
        if name not in given and not _has_default(field):
            raise _Wrong((*path, name), "is missing")
    hints = _hints(kind)
    return kind(**{name: _value(hints[name], one, (*path, name)) for name, one in given.items()})


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _has_default(field: Field[Any]) -> bool:
    return field.default is not MISSING or field.default_factory is not MISSING


def _mapping(data: Any, path: KeyPath) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise _Wrong(path, "must be an object")
    return data


def _tuple(options: tuple[Any, ...], data: Any, path: KeyPath) -> tuple[Any, ...]:
    if not isinstance(data, list):
        raise _Wrong(path, "must be a list")
    kinds = (options[0],) * len(data) if options[-1] is ... else options
    if len(kinds) != len(data):
        raise _Wrong(path, f"must be a list of {len(kinds)}")
    return tuple(_value(kind, one, (*path, n)) for n, (kind, one) in enumerate(zip(kinds, data, strict=True)))


def _one_of(options: tuple[Any, ...], data: Any, path: KeyPath) -> Any:
    if data not in options:
        raise _Wrong(path, f"must be one of: {', '.join(map(str, options))}")
    return data


def _number(data: Any, path: KeyPath) -> float:
    if isinstance(data, str) and data in _NUMBERS:
        return _NUMBERS[data]
    if isinstance(data, bool) or not isinstance(data, int | float):
        raise _Wrong(path, f"must be {_SAID[float]}")
    try:
        return float(data)
    except OverflowError:
        raise _Wrong(path, "is a number too large") from None


def _scalar(kind: Any, data: Any, path: KeyPath) -> Any:
    if type(data) is not kind:
        raise _Wrong(path, f"must be {_SAID[kind]}")
    return data
