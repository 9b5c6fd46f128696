"""What Docker Compose says about a file: its config hashes, so that it finds its own label on what the kit makes."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

SECONDS = 30


@dataclass(frozen=True)
class Compose:
    """Compose's version and the hash of each service; None and {} when it is not installed, or refuses the file."""

    version: str | None = None
    hashes: Mapping[str, str] = field(default_factory=dict)


Ask = Callable[[Path, Mapping[str, str]], Compose]


def ask(file: Path, environ: Mapping[str, str]) -> Compose:
    """Two short runs of `docker compose`, which talk to no daemon."""
    version = _run(["version", "--short"], environ).strip().removeprefix("v")
    if not version:
        return Compose()
    listed = _run(["-f", str(file), "config", "--hash", "*"], environ)
    pairs = (line.split() for line in listed.splitlines())
    return Compose(version, {pair[0]: pair[1] for pair in pairs if len(pair) == 2})


def _run(arguments: list[str], environ: Mapping[str, str]) -> str:
    try:
        done = subprocess.run(
            ["docker", "compose", *arguments], env=dict(environ), capture_output=True, text=True, timeout=SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""
