"""Stack -> docker-compose.yaml and the files beside it. The template prints; it decides nothing.

Every value goes through one filter (yaml_lines), so a `$`, a colon or an emoji arrives as it was written. The first
line carries a checksum of the rest: a file that was edited by hand is recognised, and kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Literal

from kit.stack.compose_keys import escaped_keys, network_keys, volume_keys
from kit.stack.model import File, Stack
from kit.stack.shared import lay_out
from kit.stack.yaml_lines import WIDTH, Node, lines

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
    body = fill(
        "docker-compose.yaml.j2",
        stack=stack,
        beside=[(file.path, checksum(file.text)) for file in stack.files],
        layout=lay_out(stack),
        networks={network.name: network_keys(network) for network in stack.networks},
        volumes={name: volume_keys(name, stack) for name in stack.volumes},
    )
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


def comment(text: str, indent: int = 0) -> str:
    """A line of words as comment lines, whatever is in it: a line break of any kind would end the comment. What is too
    long goes on in the next line, below the last column."""
    line = "".join(c if c.isprintable() else " " for c in text).rstrip()
    columns = [found.end() for found in re.finditer(r"^ +|\S  +", line)]
    hang = max((column for column in columns if column <= WIDTH // 2), default=0)
    wrapped = wrap(
        line, WIDTH - indent - 2, subsequent_indent=" " * hang, break_long_words=False, break_on_hyphens=False
    )
    return f"\n{' ' * indent}".join(f"# {one}".rstrip() for one in wrapped or [""])


def _yaml(keys: Mapping[str, Node], indent: int = 0) -> str:
    return "\n".join(lines(escaped_keys(keys), indent))


def _plain_yaml(keys: Mapping[str, Node]) -> str:
    """Without Compose's doubled `$`."""
    return "\n".join(lines(keys))


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
    printer.filters.update(yaml=_yaml, plain_yaml=_plain_yaml, comment=comment)
    return printer
