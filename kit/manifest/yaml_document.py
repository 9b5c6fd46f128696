"""YAML text -> data, with the place and the text of every node.

A manifest is read by people, by editors (YAML 1.2) and by tools (YAML 1.1), and must say the same to each. So the text
is read from the parser's events: scalars by yaml_syntax.py, and no aliases, anchors, tags, merge keys or duplicate
keys. Each of those is a `Problem` of the document, reported together with the problems of its values. What makes the
rest unreadable (syntax, encoding, nesting) is a ManifestError at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import yaml
from yaml import events as ev

from kit.errors import KeyPath, ManifestError, Mark, Problem, quoted
from kit.manifest import yaml_syntax
from kit.manifest.yaml_syntax import is_switch, resolve

MAX_BYTES = 2**20
MAX_DEPTH = 32
MAX_PROBLEMS = 100  # reported at once
MAX_STRAYS = 5  # invisible characters reported one by one

# What YAML calls unprintable, the line ends that editors do not count, and marks of byte order and direction.
_STRAY = re.compile(
    "[^\t\n\r\x20-\x7e\xa0-\u2027\u202f-\u2065\u206a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
_NO_TEXT = re.compile("[\0\ud800-\udfff]")
_LINE_END = re.compile(r"\r\n|\r|\n")
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class Document:
    """`data` is made of dict, list, str, int, float, bool and None. `written` holds unquoted scalars as they are in the
    file; `switches` are the places of unquoted on, off, yes and no, which are text here and booleans elsewhere.
    `problems` must be reported by whoever uses `data`: manifest.parse does, others call `sound()`."""

    file: str
    data: Any
    marks: Mapping[KeyPath, Mark]
    key_marks: Mapping[KeyPath, Mark] = field(default_factory=dict)
    written: Mapping[KeyPath, str] = field(default_factory=dict)
    switches: tuple[KeyPath, ...] = ()
    problems: tuple[Problem, ...] = ()

    def mark(self, path: KeyPath) -> Mark:
        """Where the value at `path` begins, or its nearest ancestor that exists."""
        while path and path not in self.marks:
            path = path[:-1]
        return self.marks.get(path, Mark(self.file, 1, 1))

    def key_mark(self, path: KeyPath) -> Mark:
        """Where the last key of `path` is written; for an item of a list, its value."""
        return self.key_marks.get(path) or self.mark(path)

    def sound(self) -> Document:
        """This document, or ManifestError with its problems."""
        if self.problems:
            raise ManifestError(self.problems)
        return self


def load_bytes(data: bytes, file: str) -> Document:
    """The bytes of `file` -> Document. UTF-8, with or without a byte order mark. Raises ManifestError."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ManifestError(Problem("the file is UTF-16", "save it as UTF-8", mark=Mark(file, 1, 1)))
    try:
        return load(data.decode("utf-8"), file)
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8-sig")
        lines = _LINE_END.split(before)
        rest = _LINE_END.split(data[error.start : error.start + 80].decode("utf-8", "replace"))[0]
        mark = Mark(file, len(lines), len(lines[-1]) + 1, lines[-1] + rest)
        what = f"the byte 0x{data[error.start]:02x} is not UTF-8"
        raise ManifestError(Problem(what, "save the file as UTF-8", mark=mark)) from None


def load(text: str, file: str, loader: Any = LOADER) -> Document:
    """YAML `text` -> Document. Raises only ManifestError. `loader` is PyYAML's: its C parser and its Python parser give
    the same events and places; the first is 20 times faster."""
    text = text.removeprefix("\ufeff")
    if len(text) > MAX_BYTES:
        what = f"the file has {len(text):,} characters"
        raise ManifestError(Problem(what, f"needed: at most {MAX_BYTES:,}", mark=Mark(file, 1, 1)))
    reader = _Reader(file, text)
    strays = tuple(reader.strays(text))
    if strays:
        raise ManifestError(strays)
    return reader.read(text, loader)


class _Reader:
    """One walk over the events of one file."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.lines = _LINE_END.split(text)
        self.marks: dict[KeyPath, Mark] = {}
        self.key_marks: dict[KeyPath, Mark] = {}
        self.written: dict[KeyPath, str] = {}
        self.switches: list[KeyPath] = []
        self.problems: dict[KeyPath, Problem] = {}
        self.events: Iterator[ev.Event] = iter(())

    def read(self, text: str, loader: Any) -> Document:
        self.events = yaml.parse(text, Loader=loader)
        try:
            data = self._root()
        except (yaml.YAMLError, ValueError, OverflowError) as error:
            # PyYAML's own parser lets Python's errors through for an escape such as "\\UFFFFFFFF".
            raise self._unreadable(yaml_syntax.explain(error, self._place)) from None
        if data is None:
            raise self._unreadable(Problem("the file is empty", mark=self._place(0, 0)))
        problems = tuple(self.problems.values())
        return Document(self.file, data, self.marks, self.key_marks, self.written, tuple(self.switches), problems)

    def strays(self, text: str) -> Iterator[Problem]:
        for match in islice(_STRAY.finditer(text), MAX_STRAYS):
            lines = _LINE_END.split(text[: match.start()])
            mark = self._place(len(lines) - 1, len(lines[-1]))
            yield Problem(f"the character U+{ord(match.group()):04X} is invisible", "remove it", mark=mark)

    def _root(self) -> Any:
        """The only document, between the events of the stream and of the document."""
        next(self.events)
        if isinstance(next(self.events), ev.StreamEndEvent):
            return None
        data = self._node(next(self.events), ())
        next(self.events)
        after = next(self.events)
        if isinstance(after, ev.DocumentStartEvent):
            self._complain((), "a second document begins here", "needed: one document; remove the '---'", after)
        return data

    def _node(self, event: ev.Event, path: KeyPath) -> Any:
        if len(path) > MAX_DEPTH:
            deep = Problem(f"nested more than {MAX_DEPTH} deep", mark=self._mark(event))
            raise self._unreadable(deep)
        self.marks[path] = self._mark(event)
        if isinstance(event, ev.AliasEvent):
            self._complain(path, f"an alias, *{event.anchor}", "aliases are not supported; repeat the value", event)
            return None
        assert isinstance(event, ev.ScalarEvent | ev.CollectionStartEvent)
        if event.anchor:
            self._complain(path, f"an anchor, &{event.anchor}", "anchors are not supported; remove it", event)
        if event.tag:
            self._complain(path, f"a tag, {quoted(event.tag)}", "tags are not supported; text goes in quotes", event)
        if isinstance(event, ev.ScalarEvent):
            return self._scalar(event, path)
        return self._mapping(path) if isinstance(event, ev.MappingStartEvent) else self._sequence(path)

    def _scalar(self, event: ev.ScalarEvent, path: KeyPath) -> Any:
        if event.style or event.tag:
            self._visible(event, path)
            return event.value
        self.written[path] = event.value
        if is_switch(event.value):
            self.switches.append(path)
        value, complaint = resolve(event.value)
        if complaint:
            self._complain(path, f"{quoted(event.value)} without quotes", complaint, event)
        return value

    def _sequence(self, path: KeyPath) -> list[Any]:
        items: list[Any] = []
        while not isinstance(event := next(self.events), ev.SequenceEndEvent):
            items.append(self._node(event, (*path, len(items))))
        return items

    def _mapping(self, path: KeyPath) -> dict[str, Any]:
        """Of a duplicate key the first value is kept."""
        data: dict[str, Any] = {}
        while not isinstance(event := next(self.events), ev.MappingEndEvent):
            key = self._key(event, path)
            here = (*path, key)
            if key in data or here in self.problems:
                self._skip(next(self.events))
            if key in data:
                first = self.key_marks[here].line
                self._complain(here, f"duplicate key {quoted(key)}", f"the first is at line {first}; keep one", event)
            elif here not in self.problems:
                self.key_marks[here] = self._mark(event)
                data[key] = self._node(next(self.events), here)
        return data

    def _key(self, event: ev.Event, path: KeyPath) -> str:
        """A mapping's key as it is written. A key that is not plain text is a problem."""
        if not isinstance(event, ev.ScalarEvent):
            self._complain((*path, "?"), "a key must be plain text", "needed: key: value", event)
            self._skip(event)
            return "?"
        here = (*path, event.value)
        value, complaint = (event.value, "") if event.style else resolve(event.value)
        if event.anchor or event.tag:
            self._complain(here, "an anchor or a tag at a key", "not supported; remove it", event)
        elif event.value == "<<" and not event.style:
            self._complain(here, "a merge key, <<", "merge keys are not supported; repeat the keys", event)
        elif complaint or not isinstance(value, str) or (is_switch(value) and not event.style):
            what = f"the key {quoted(event.value)} is not text to every YAML reader"
            self._complain(here, what, "put it in quotes", event)
        self._visible(event, here)
        return str(event.value)

    def _visible(self, event: ev.ScalarEvent, path: KeyPath) -> None:
        """No process can be given a NUL, which an escape may produce."""
        stray = _NO_TEXT.search(event.value)
        if stray:
            what = f"an escape for the character U+{ord(stray.group()):04X}"
            self._complain(path, what, "no process can be given it; remove it", event)

    def _skip(self, event: ev.Event) -> None:
        """Read past a node."""
        depth = 0
        while True:
            depth += isinstance(event, ev.CollectionStartEvent) - isinstance(event, ev.CollectionEndEvent)
            if not depth:
                return
            event = next(self.events)

    def _complain(self, path: KeyPath, what: str, needed: str, event: ev.Event) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.setdefault(path, Problem(what, needed, path=path, mark=self._mark(event)))

    def _unreadable(self, problem: Problem) -> ManifestError:
        return ManifestError([*self.problems.values(), problem])

    def _mark(self, event: ev.Event) -> Mark:
        mark = event.start_mark
        return self._place(mark.line, mark.column) if mark else self._place(0, 0)

    def _place(self, line: int, column: int) -> Mark:
        text = self.lines[line] if line < len(self.lines) else ""
        return Mark(self.file, line + 1, column + 1, text)
