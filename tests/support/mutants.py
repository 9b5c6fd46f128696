"""Every printed object with one field deleted or changed."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.support.cluster import Object

Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Mutant:
    """`objects` with the field at `path` of object number `index` changed: `how` is deleted, or what it became."""

    objects: list[Object]
    index: int
    path: Path
    how: str

    def __str__(self) -> str:
        one = self.objects[self.index]
        return f"{one.get('kind')}/{one['metadata'].get('name')} {dotted(self.path)} {self.how}"


def dotted(path: Path) -> str:
    """`spec.containers[].image`, without the numbers of items."""
    text = ""
    for step in path:
        text += "[]" if isinstance(step, int) else f".{step}"
    return text.removeprefix(".")


def fields(value: Any, at: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every field: leaves, and lists and mappings as a whole."""
    if at:
        yield at, value
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from fields(one, (*at, key))


def changed(value: Any) -> list[Any]:
    """Other values of the same type."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [0, value + 1]
    if isinstance(value, str):
        return [f"{value}x", "0"]
    return []


def mutants(objects: list[Object]) -> Iterator[Mutant]:
    """All of them, one after another; each shares with the original what is not changed."""
    for index, one in enumerate(objects):
        for path, value in fields(one):
            if path in (("kind",), ("metadata",), ("metadata", "name"), ("apiVersion",)):
                continue
            yield _mutant(objects, index, path, None)
            for other in changed(value):
                if other == value:
                    continue
                yield _mutant(objects, index, path, other)


def _mutant(objects: list[Object], index: int, path: Path, other: Any) -> Mutant:
    one = copy.deepcopy(objects[index])
    at: Any = one
    for step in path[:-1]:
        at = at[step]
    if other is None:
        del at[path[-1]]
    else:
        at[path[-1]] = other
    how = "deleted" if other is None else f"= {other!r}"
    return Mutant([*objects[:index], one, *objects[index + 1 :]], index, path, how)
