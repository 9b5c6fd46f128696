"""One error class per stage of the walk, each with its exit code, and the shape every problem is printed in.

A `Problem` points at the manifest: `file:line:col: path: what; needed`, then the line and a caret. Later stages keep
pointing there, so a memory problem is read at the line that asked for the memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Path = tuple[str | int, ...]


def dotted(path: Path) -> str:
    """`("models", 1, "context")` -> `models[1].context`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


@dataclass(frozen=True)
class Mark:
    """A place in a file. `line` and `column` count from 1; `text` is the whole line, without its end."""

    file: str
    line: int
    column: int
    text: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong: `what` happened, what was `needed` (why, and what to do), a `hint` such as the nearest word."""

    what: str
    needed: str = ""
    hint: str = ""
    path: Path = ()
    mark: Mark | None = None

    def __str__(self) -> str:
        where = [str(self.mark)] if self.mark else []
        where += [dotted(self.path)] if self.path else []
        said = "; ".join(part for part in (self.what, self.needed, self.hint) if part)
        head = ": ".join([*where, said])
        if not self.mark or not self.mark.text.strip():
            return head
        caret = " " * (self.mark.column - 1) + "^"
        return f"{head}\n    {self.mark.text}\n    {caret}"


class KitError(Exception):
    """What a verb could not do. `evidence` is printed below the problems: a bill, a log's tail, an HTTP body."""

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
    """The manifest cannot be read, or says something it may not."""

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
