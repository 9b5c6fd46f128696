"""A YAML document as nodes that know their place in the file, each scalar as the text that Compose makes of it.

Compose replaces variables in text and casts afterwards, by field. So every scalar is text here (`true`, `1.5`), and
whoever reads a field knows its type. yaml_document.py refuses what YAML readers do not all take alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from kit.errors import KeyPath, ManifestError, Mark, Problem, TargetError, dotted
from kit.manifest import yaml_document

Plain = str | list["Plain"] | dict[str, "Plain"] | None


@dataclass(frozen=True)
class Node:
    """A value of the file: text, None, a tuple of nodes or a mapping of nodes; `path` and `mark` say where."""

    value: str | tuple[Node, ...] | Mapping[str, Node] | None
    path: KeyPath
    mark: Mark

    @property
    def plain(self) -> Plain:
        """The value without its places."""
        if isinstance(self.value, tuple):
            return [node.plain for node in self.value]
        if isinstance(self.value, Mapping):
            return {key: node.plain for key, node in self.value.items()}
        return self.value

    def problem(self, what: str, needed: str = "", hint: str = "") -> Problem:
        """`what` is wrong here."""
        return Problem(what, needed, hint, self.path, self.mark)

    def wrong(self, needed: str) -> TargetError:
        """The value cannot be read; `needed` says what could."""
        field = dotted(self.path).rpartition(".")[2] or "the file"
        return TargetError(self.problem(f"{_shown(self.value)} is not what `{field}` takes", f"write {needed}"))


def _shown(value: object) -> str:
    if isinstance(value, str):
        return repr(value)
    return "nothing" if value is None else "a list" if isinstance(value, tuple) else "a mapping"


def parse(text: str, file: str) -> Node:
    """The tree of a YAML text. Raises TargetError at the line of whatever readers would not take alike."""
    try:
        found = yaml_document.load(text, file).sound()
    except ManifestError as error:
        raise TargetError(error.problems) from None
    return _node(found.data, (), found)


def _node(data: object, path: KeyPath, found: yaml_document.Document) -> Node:
    value: str | tuple[Node, ...] | Mapping[str, Node] | None
    if isinstance(data, list):
        value = tuple(_node(item, (*path, index), found) for index, item in enumerate(data))
    elif isinstance(data, dict):
        value = {key: _node(item, (*path, key), found) for key, item in data.items()}
    else:
        value = None if data is None else _text(data)
    return Node(value, path, found.key_mark(path) if isinstance(data, dict) else found.mark(path))


def _text(scalar: object) -> str:
    if isinstance(scalar, bool):
        return "true" if scalar else "false"
    if isinstance(scalar, float) and scalar.is_integer() and abs(scalar) < 1e21:
        return str(int(scalar))
    return str(scalar)


def map_text(node: Node, change: Callable[[str, Node], str]) -> Node:
    """The same tree with every text value changed; keys stay."""
    if isinstance(node.value, tuple):
        return replace(node, value=tuple(map_text(item, change) for item in node.value))
    if isinstance(node.value, Mapping):
        return replace(node, value={key: map_text(item, change) for key, item in node.value.items()})
    return node if node.value is None else replace(node, value=change(node.value, node))


def entries(node: Node | None) -> Iterator[tuple[str, Node]]:
    """A mapping's keys and nodes, without extension keys (`x-...`). Raises TargetError when it is none."""
    if node is None:
        return
    if not isinstance(node.value, Mapping):
        raise node.wrong("a mapping")
    yield from ((key, item) for key, item in node.value.items() if not key.startswith("x-"))


def fields(node: Node) -> dict[str, Node]:
    """`entries`, without those that hold nothing."""
    return {key: item for key, item in entries(node) if item.value is not None}


def items(node: Node) -> Iterator[Node]:
    """A list's nodes. Raises TargetError when it is none."""
    if not isinstance(node.value, tuple):
        raise node.wrong("a list")
    yield from node.value
