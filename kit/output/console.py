"""Where verbs print. Results go to stdout, progress and problems to stderr; `--json` prints one JSON value."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

from kit.errors import KitError

if TYPE_CHECKING:
    from rich.console import Console

INTERRUPTED = 130
BUG = 1
GONE = 141


@dataclass(frozen=True)
class Output:
    """Two streams, and whether the caller wants JSON."""

    out: TextIO
    err: TextIO
    as_json: bool = False

    def console(self) -> Console:
        """rich on stdout; plain, and $COLUMNS or 100 columns wide, where no terminal is."""
        return _console(self.out)

    def progress(self) -> Console:
        """rich on stderr."""
        return _console(self.err)

    def print(self, *lines: str) -> None:
        for line in lines:
            print(line, file=self.out)

    def say(self, *lines: str) -> None:
        """Words beside the result."""
        for line in lines:
            print(line, file=self.err)

    def json(self, value: Any) -> None:
        print(json.dumps(value, indent=2, ensure_ascii=False), file=self.out)

    def guard(self, walk: Callable[[], int]) -> int:
        """Run a verb. Whatever happens becomes words and an exit code; a traceback only for our own bugs, in a file."""
        try:
            return walk()
        except KitError as error:
            self._failed(error)
            return error.exit_code
        except KeyboardInterrupt:
            self.say("interrupted; nothing is lost: the same command goes on from here")
            return INTERRUPTED
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return GONE
        except Exception as error:
            self._bug(error)
            return BUG

    def _failed(self, error: KitError) -> None:
        if self.as_json:
            from kit.output.plan_json import problems_json

            self.json(
                {
                    "ok": False,
                    "exit_code": error.exit_code,
                    "problems": problems_json(error),
                    "evidence": error.evidence,
                }
            )
        for problem in error.problems:
            self.say(str(problem))
        if error.evidence and not self.as_json:
            self.say(*(f"    {line}" for line in error.evidence.splitlines()))

    def _bug(self, error: Exception) -> None:
        import tempfile
        import traceback

        with tempfile.NamedTemporaryFile("w", prefix="monogpu-kit-", suffix=".txt", delete=False) as report:
            traceback.print_exception(error, file=report)
        self.say(
            f"monogpu-kit has a bug: {type(error).__name__}: {error}",
            f"the details are in {report.name}; please report them, with the manifest",
        )


def _console(stream: TextIO) -> Console:
    from rich.console import Console

    if stream.isatty():
        return Console(file=stream, highlight=False, soft_wrap=False)
    asked = os.environ.get("COLUMNS", "")
    width = max(int(asked), 40) if asked.isdecimal() else 100
    return Console(file=stream, highlight=False, no_color=True, width=width)
