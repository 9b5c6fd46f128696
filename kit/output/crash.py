"""A report of our own bug, ready to paste: without values of environment variables, tokens and home paths. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePath
from traceback import TracebackException
from urllib.parse import quote

from kit.errors import printable

REMOVED = "[removed]"
SHORTEST = 4  # characters of a value that is removed wherever it stands; a shorter name only as a whole word
VERSION = re.compile(r"[\w.+~ -]{1,60}")
# The part of a file's path that differs from machine to machine.
PLACE = re.compile(r".*/(?:site-packages|dist-packages|python3\.\d+)/|.*/(?=kit/)|.*/")
HOME = re.compile(r"(?:/home|/Users|[A-Za-z]:\\+Users)[/\\]+[^/\\\s'\":,;)]+|/root\b")
SECRETS = re.compile(
    r"(?<=://)[^/\s@]+(?=@)"  # credentials in a URL
    r"|(?<=\b[Bb]earer )\S+|(?<=\b[Bb]asic )\S+"
    r"|\b(?:hf_[A-Za-z0-9]{6,}|(?:sk|pk|glpat|nvapi|xox[a-z])-[\w-]{6,}|gh[a-z]_\w{6,}|github_pat_\w+|AKIA\w{8,})"
    r"|(?<=[A-Z0-9_]{3}=)\S+"  # NAME=value
    r"|\b[0-9a-fA-F]{16,}\b"
    r"|[A-Za-z0-9+_=-]{24,}"  # base64, or as long
    r"|(?=[a-z+/_=-]{0,200}[0-9A-Z])[A-Za-z0-9+/_=-]{20,}"
)


def report(
    error: BaseException,
    command: str,
    versions: Mapping[str, str],
    environ: Mapping[str, str],
    home: str,
    secrets: Iterable[str] = (),
) -> str:
    """The versions, the command without its values, and the traceback without anything private: nothing of `environ`
    and of `secrets`."""
    found = TracebackException.from_exception(error)
    for one in _chain(found):
        for frame in one.stack:
            frame.filename = PLACE.sub("", frame.filename, count=1)
    shown = [f"{name}: {value if VERSION.fullmatch(value) else 'unknown'}" for name, value in versions.items()]
    private = [value for value in (*environ.values(), *secrets) if len(value.strip()) >= SHORTEST]
    names = [environ.get(name, "") for name in ("USER", "LOGNAME", "USERNAME")]
    text = scrubbed("".join(found.format()), (*private, *names, home, PurePath(home).name))
    return "\n".join([*shown, f"command: {command}", text.rstrip()])


def _chain(found: TracebackException) -> Iterator[TracebackException]:
    """An exception, those that it was raised from, and those that it groups."""
    yield found
    for one in (found.__cause__, found.__context__, *(getattr(found, "exceptions", None) or ())):
        if one is not None:
            yield from _chain(one)


def scrubbed(text: str, private: Iterable[str]) -> str:
    """`text` without the private values, however they are quoted, and without what looks like a secret."""
    forms = {re.escape(form): len(form) for value in private for form in _forms(value)}
    whole = [form if size >= SHORTEST else rf"\b{form}\b" for form, size in forms.items()]
    if whole:
        text = re.sub("|".join(sorted(whole, key=len, reverse=True)), REMOVED, text)
    return "\n".join(printable(SECRETS.sub(REMOVED, HOME.sub("~", line))) for line in text.split("\n"))


def _forms(value: str) -> Iterator[str]:
    """A value as a message may quote it: as it is, escaped, or one line of it."""
    for part in {value, value.strip(), *(line.strip() for line in value.splitlines() if len(line) >= SHORTEST)}:
        raw = part.encode(errors="replace")
        quoted = (repr(part), json.dumps(part), json.dumps(part, ensure_ascii=False), repr(raw)[1:])
        yield from (form for form in (part, quote(raw, safe=""), *(one[1:-1] for one in quoted)) if form.strip(" /.:"))
