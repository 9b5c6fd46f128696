"""The objects of the fake API server, and server-side apply: who owns which field, and what conflicts."""

from __future__ import annotations

import copy
import itertools
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Object = dict[str, Any]
Key = tuple[str, str, str]  # plural, namespace, name
Path = tuple[str, ...]

_IDENTITY = {("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace")}


class Conflict(Exception):
    """Fields that another manager owns."""

    def __init__(self, fields: list[tuple[str, str]]) -> None:
        super().__init__(str(fields))
        self.fields = fields


def leaves(value: Any, at: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every field of an object that is no mapping; a list is one field."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from leaves(inner, (*at, key))
    elif at not in _IDENTITY:
        yield at, value


@dataclass
class Store:
    """All objects. Every change has a version; `changed` is set with each."""

    objects: dict[Key, Object] = field(default_factory=dict)
    owners: dict[Key, dict[Path, set[str]]] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)
    changed: threading.Condition = field(default_factory=threading.Condition)
    versions: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    version: int = 0
    log: list[tuple[int, Key, str]] = field(default_factory=list)

    def touch(self, key: Key, verb: str) -> None:
        """A new version of an object, told to watches."""
        self.version = next(self.versions)
        if key in self.objects:
            self.objects[key]["metadata"]["resourceVersion"] = str(self.version)
        self.log.append((self.version, key, verb))
        with self.changed:
            self.changed.notify_all()

    def put(self, key: Key, one: Object) -> Object:
        """Makes or replaces an object, as a controller does."""
        with self.lock:
            meta = one["metadata"]
            meta.setdefault("uid", f"uid-{next(self.versions)}")
            meta.setdefault("generation", 1)
            verb = "MODIFIED" if key in self.objects else "ADDED"
            self.objects[key] = one
            self.touch(key, verb)
            return one

    def apply(self, key: Key, given: Object, manager: str) -> tuple[Object, bool]:
        """(what the object is now, whether it is new). Raises Conflict."""
        with self.lock:
            before = self.objects.get(key)
            now = copy.deepcopy(before) if before else {"metadata": {}}
            owned = self.owners.setdefault(key, {})
            wanted = dict(leaves({k: v for k, v in given.items() if k != "status"}))
            self._refuse_conflicts(now, owned, wanted, manager)
            for path in [path for path, who in owned.items() if manager in who and path not in wanted]:
                owned[path].discard(manager)
                if not owned[path]:
                    del owned[path]
                    _remove(now, path)
            for path, value in wanted.items():
                _set(now, path, copy.deepcopy(value))
                owned.setdefault(path, set()).add(manager)
            for path in _IDENTITY:
                if (value := _get(given, path)) is not None:
                    _set(now, path, value)
            if before is not None and now == before:
                return before, False
            if before is not None and now.get("spec") != before.get("spec"):
                now["metadata"]["generation"] = before["metadata"].get("generation", 1) + 1
            return self.put(key, now), before is None

    def _refuse_conflicts(
        self, now: Object, owned: dict[Path, set[str]], wanted: dict[Path, Any], manager: str
    ) -> None:
        found = [
            ("." + ".".join(path), other)
            for path, value in wanted.items()
            for other in owned.get(path, set()) - {manager}
            if _get(now, path) != value
        ]
        if found:
            raise Conflict(found)

    def delete(self, key: Key) -> None:
        """Deletes an object and what it owns."""
        with self.lock:
            gone = self.objects.pop(key, None)
            self.owners.pop(key, None)
            if gone is None:
                return
            self.touch(key, "DELETED")
            for other, one in list(self.objects.items()):
                owners = one["metadata"].get("ownerReferences") or []
                if any(owner["uid"] == gone["metadata"]["uid"] for owner in owners):
                    self.delete(other)

    def listed(self, plural: str, namespace: str, labels: Mapping[str, str] | None = None) -> list[Object]:
        """The objects of a kind with these labels."""
        with self.lock:
            return [
                copy.deepcopy(one)
                for (kind, space, _), one in self.objects.items()
                if kind == plural
                if not namespace or space == namespace
                if all((one["metadata"].get("labels") or {}).get(k) == v for k, v in (labels or {}).items())
            ]


def _get(one: Any, path: Path) -> Any:
    for step in path:
        if not isinstance(one, dict) or step not in one:
            return None
        one = one[step]
    return one


def _set(one: Object, path: Path, value: Any) -> None:
    for step in path[:-1]:
        inner = one.get(step)
        if not isinstance(inner, dict):
            inner = one[step] = {}
        one = inner
    one[path[-1]] = value


def _remove(one: Object, path: Path) -> None:
    for step in path[:-1]:
        one = one.get(step) or {}
    one.pop(path[-1], None)
