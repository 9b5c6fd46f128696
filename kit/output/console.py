"""Where verbs print. Results go to stdout, progress and problems to stderr; `--json` prints one JSON object."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from kit.errors import KitError
from kit.files import VERSION, write_atomically

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

INTERRUPTED = 130
GONE = 141


def json_text(value: Mapping[str, Any]) -> str:
    """A JSON object with the version of its format."""
    return json.dumps({"version": VERSION, **value}, indent=2, ensure_ascii=False) + "\n"


@dataclass(frozen=True)
class Output:
    """Two streams, whether the caller wants JSON, the environment, and the command without its values."""

    out: TextIO
    err: TextIO
    as_json: bool = False
    environ: Mapping[str, str] = field(default_factory=dict)
    command: str = ""

    def console(self) -> Console:
        """rich on stdout; plain, and $COLUMNS or 100 columns wide, where no terminal is."""
        return self._console(self.out)

    def progress(self) -> Console:
        """rich on stderr."""
        return self._console(self.err)

    def _console(self, stream: TextIO) -> Console:
        from rich.console import Console

        if stream.isatty():
            return Console(file=stream, highlight=False, soft_wrap=False)
        columns = self.environ.get("COLUMNS", "")
        width = max(int(columns), 40) if columns.isdecimal() else 100
        return Console(file=stream, highlight=False, no_color=True, width=width)

    def print(self, *lines: str) -> None:
        for line in lines:
            print(line, file=self.out)

    def say(self, *lines: str) -> None:
        """Print lines beside the result."""
        for line in lines:
            print(line, file=self.err)

    def draw(self, parts: Iterable[RenderableType]) -> None:
        """Print what rich renders."""
        console = self.console()
        for part in parts:
            console.print(part)

    def json(self, value: Mapping[str, Any]) -> None:
        self.out.write(json_text(value))

    def show(self, value: Mapping[str, Any], *lines: str) -> None:
        """Print a result: JSON where it is asked for, else the lines."""
        if self.as_json:
            self.json(value)
        else:
            self.print(*lines)

    def save(self, text: str, path: Path | None) -> None:
        """Write a text to a file, or to stdout without one."""
        if path is None or str(path) == "-":
            self.out.write(text)
        else:
            write_atomically(path, text)
            self.print(f"wrote {path}")

    def guard(self, run: Callable[[], int]) -> int:
        """Run a verb. Every failure becomes a message and an exit code; for our own bugs a report is printed."""
        try:
            return run()
        except KitError as error:
            return self._failed(error)
        except KeyboardInterrupt:
            self.say("interrupted")
            return INTERRUPTED
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return GONE
        except Exception as error:
            what = "this is a bug in monogpu-kit; please report it with the text below"
            return self._failed(KitError(what, self._report(error)))

    def _report(self, error: Exception) -> str:
        try:
            from kit.compose.compose_files import env_values
            from kit.doctor.collect import versions
            from kit.output.crash import report

            found, secrets = versions(self.environ), env_values(Path.cwd())
            return report(error, self.command, found, self.environ, str(Path.home()), secrets)
        except Exception as another:  # the bug may be in what the report needs
            return f"{type(error).__name__}, and no report: {type(another).__name__}"

    def _failed(self, error: KitError) -> int:
        if self.as_json:
            from kit.output.plan_json import problems_json

            code, problems = error.exit_code, problems_json(error)
            self.json({"ok": False, "exit_code": code, "problems": problems, "evidence": error.evidence})
        self.say(*map(str, error.problems))
        if not self.as_json:
            self.say(*(f"    {line}" for line in error.evidence.splitlines()))
        return error.exit_code
