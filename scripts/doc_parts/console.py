"""Transcripts: commands that run in a copy of an example's folder, and what they print.

`monogpu-kit` is this checkout's, lines are 100 columns wide, and the Hub is not asked. A command that
fails shows that too.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PART = re.compile(r"(<!-- console (\S+) -->\n\n```console\n)(.*?)(\n```\n\n<!-- /console -->)", re.DOTALL)
EMPTY = "empty"  # instead of an example's folder


def rewritten(text: str) -> str:
    """A page whose transcripts say what their commands print now."""
    return PART.sub(lambda part: part.group(1) + transcript(part.group(2), part.group(3)) + part.group(4), text)


def transcript(folder: str, old: str) -> str:
    """The commands of an earlier transcript with what they print now; a line that ends with a backslash goes on."""
    lines: list[str] = []
    with example(folder) as place:
        for command in re.findall(r"^\$ ((?:.*\\\n)*.*)", old, re.MULTILINE):
            done = run(command, place)
            lines += [f"$ {command}", *(line.rstrip() for line in done.stdout.strip("\n").splitlines()), ""]
    return "\n".join(lines).rstrip("\n")


@contextmanager
def example(folder: str) -> Iterator[Path]:
    """A copy of an example as its user has it: where it may be changed, and under its own name."""
    with tempfile.TemporaryDirectory() as parent:
        place = Path(parent) / Path(folder).name
        if folder == EMPTY:
            place.mkdir()
        else:
            shutil.copytree(ROOT / folder, place, ignore=shutil.ignore_patterns("models", "adapters"))
        tools = Path(parent) / ".bin"
        tools.mkdir()
        kit = tools / "monogpu-kit"
        kit.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m kit.cli "$@"\n')
        kit.chmod(0o755)
        yield place


def run(command: str, place: Path) -> subprocess.CompletedProcess[str]:
    """A line of shell in an example's folder; what it says of errors is part of its output."""
    path = f"{place.parent / '.bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    plain = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb", "LC_ALL": "C.UTF-8"}
    environ = os.environ | plain | {"PATH": path, "HF_HUB_OFFLINE": "1"}
    argv = ["bash", "-c", f"set -o pipefail; {command}"]
    return subprocess.run(
        argv, cwd=place, env=environ, text=True, check=False, timeout=120,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
