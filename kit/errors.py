"""An error class for each stage, with its exit code, and the form in which problems are printed.

A `Problem` points at the manifest: `file:line:col: path: what; needed`, then the line and a caret. Later stages keep
pointing there, so a memory problem is read at the line that asked for the memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from unicodedata import category, east_asian_width

KeyPath = tuple[str | int, ...]

LINE_WIDTH = 120  # of a quoted line, in characters
QUOTE_WIDTH = 60  # of a quoted value


def dotted(path: KeyPath) -> str:
    """`("models", 1, "context")` -> `models[1].context`; an ambiguous key is quoted: `env["a.b"]`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif not re.fullmatch(r"[\w-]+", step):
            text += f'["{printable(step)}"]'
        else:
            text += f".{step}" if text else step
    return text


def printable(text: str) -> str:
    """`text` as a terminal may show it: what has no shape, or would move the cursor, becomes U+FFFD."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


def quoted(text: str) -> str:
    """`text` in single quotes for a message: shortened, and harmless in a terminal."""
    shown = printable(text)
    return f"'{shown}'" if len(shown) <= QUOTE_WIDTH else f"'{shown[: QUOTE_WIDTH - 1]}…'"


@dataclass(frozen=True)
class Mark:
    """A place in a file. `line` and `column` count from 1; `text` is the whole line, without its end."""

    file: str
    line: int
    column: int
    text: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    def excerpt(self) -> str:
        """The line (of a long one, the part around the place), and a caret under the place. `""` without a line."""
        if not self.text.strip():
            return ""
        start = max(0, self.column - 1 - LINE_WIDTH // 2) if len(self.text) > LINE_WIDTH else 0
        lead = "…" if start else ""
        shown = printable(self.text[start : start + LINE_WIDTH].expandtabs(1))
        before = printable(self.text[start : self.column - 1].expandtabs(1))
        return f"    {lead}{shown}\n    {' ' * (len(lead) + _columns(before))}^"


def _columns(text: str) -> int:
    """How many terminal columns `text` takes."""
    return sum(0 if category(c) in ("Mn", "Me") else 2 if east_asian_width(c) in "WF" else 1 for c in text)


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong: `what` happened, what was `needed` (why, and what to do), a `hint` such as the nearest
    key."""

    what: str
    needed: str = ""
    hint: str = ""
    path: KeyPath = ()
    mark: Mark | None = None

    def __str__(self) -> str:
        where = [str(self.mark)] if self.mark else []
        where += [dotted(self.path)] if self.path else []
        said = "; ".join(part for part in (self.what, self.needed, self.hint) if part)
        head = ": ".join([*where, said])
        excerpt = self.mark.excerpt() if self.mark else ""
        return f"{head}\n{excerpt}" if excerpt else head


class KitError(Exception):
    """Why a command failed. `evidence` is printed below the problems: a bill, a log's tail, an HTTP body."""

    exit_code = 1

    def __init__(self, problems: Problem | str | Iterable[Problem], evidence: str = "") -> None:
        listed: Sequence[Problem]
        if isinstance(problems, str):
            listed = (Problem(problems),)
        elif isinstance(problems, Problem):
            listed = (problems,)
        else:
            listed = tuple(problems)
        self.problems = tuple(listed)
        self.evidence = evidence
        super().__init__("\n".join(str(problem) for problem in self.problems))


class ManifestError(KitError):
    """The manifest cannot be read, or is not valid."""

    exit_code = 2


class DoesNotFit(KitError):
    """The models need more than the card has; `evidence` is the bill and what would fit."""

    exit_code = 3


class TargetError(KitError):
    """Docker, Compose or the cluster refused, or a service failed."""

    exit_code = 4


class VerificationError(KitError):
    """The stack runs, but does not answer as the manifest says."""

    exit_code = 5


class ModelFilesError(KitError):
    """A model's files are missing, gated, or not what the engine takes."""

    exit_code = 6
