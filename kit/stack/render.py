"""Stack -> docker-compose.yaml and the files beside it. The template prints; it decides nothing.

Every scalar goes through one filter, so a `$`, a colon or an emoji arrives as it was written. The first line carries a
checksum of the rest: a file that was edited by hand is recognised, and kept.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import yaml

from kit.stack.model import File, Secret, Stack

if TYPE_CHECKING:
    from jinja2 import Environment

_KIT = Path(__file__).resolve().parent.parent
# In a checkout templates/ lies beside kit/, in an installed wheel inside it.
_TEMPLATES = (_KIT / "templates", _KIT.parent / "templates")
_FIRST = re.compile(r"# monogpu-kit: ([0-9a-f]{16})\n")
_BESIDE = re.compile(r"^# beside it: (\S+) ([0-9a-f]{16})$", re.MULTILINE)

Origin = Literal["ours", "edited", "foreign"]
# Written where it is new or ours; kept where it is equal; refused where it is not the kit's to replace.
Decision = Literal["write", "keep", "edited", "foreign"]


@dataclass(frozen=True)
class Rendered:
    """What is written: `compose` is the text of docker-compose.yaml, `files` lie beside it."""

    compose: str
    files: tuple[File, ...]


def render(stack: Stack) -> Rendered:
    """The printed project. The same stack always prints the same bytes."""
    digests = [(file.path, checksum(file.text)) for file in stack.files]
    body = _printer().get_template("docker-compose.yaml.j2").render(stack=stack, beside=digests)
    return Rendered(f"# monogpu-kit: {checksum(body)}\n{body}", stack.files)


def fill(template: str, **values: object) -> str:
    """One of the templates, with its values filled in: a file that lies beside the compose file."""
    return _printer().get_template(template).render(**values)


def checksum(text: str) -> str:
    """16 hexadecimal digits that change when the text does."""
    return sha256(text.encode()).hexdigest()[:16]


def is_ours(text: str) -> Origin:
    """Whether a compose file is as the kit printed it, was edited since, or comes from elsewhere."""
    first = _FIRST.match(text)
    if not first:
        return "foreign"
    return "ours" if first.group(1) == checksum(text[first.end() :]) else "edited"


def beside(compose: str) -> dict[str, str]:
    """Path -> checksum of the files that were printed with this compose file: they cannot carry one themselves."""
    return dict(_BESIDE.findall(compose)) if is_ours(compose) != "foreign" else {}


def decide_write(existing: str | None, new: str, force: bool, printed: str | None = None) -> Decision:
    """What becomes of a file that says `existing` (None: there is none) when `new` is printed.

    `printed` is the checksum that `beside` recorded, for a file that carries none."""
    if existing == new:
        return "keep"
    if existing is None or force or (printed is not None and checksum(existing) == printed):
        return "write"
    origin = is_ours(existing) if printed is None else "edited"
    return "write" if origin == "ours" else origin


def scalar(value: str | int | bool | Secret) -> str:
    """One YAML scalar for Compose: text always in double quotes, `$` doubled; a Secret as `${NAME:?why}`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Secret):
        return _quoted(f"${{{value.name}:?{value.why}}}" if value.required else f"${{{value.name}:-}}")
    return _quoted(value.replace("$", "$$"))


def comment(line: str) -> str:
    """One comment line, whatever is in it: a line break of any kind would end the comment."""
    return f"# {''.join(c if c.isprintable() else ' ' for c in line)}".rstrip()


def rows(items: tuple[str | Secret, ...]) -> list[list[str | Secret]]:
    """A command in rows for the eye: a flag with its values behind it, or anything else alone."""
    found: list[list[str | Secret]] = []
    for item in items:
        if not found or _is_flag(item) or not _is_flag(found[-1][0]):
            found.append([])
        found[-1].append(item)
    return found


def _is_flag(item: str | Secret) -> bool:
    return isinstance(item, str) and item.startswith("--")


def _quoted(text: str) -> str:
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return yaml.safe_dump(text, default_style='"', width=float("inf"), allow_unicode=True).removesuffix("\n")


@cache
def _printer() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

    printer = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=select_autoescape(("html.j2",), default=False),
    )
    printer.filters.update(q=scalar, comment=comment, rows=rows)
    return printer
