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


Ask = Callable[[Path, str, Mapping[str, str]], Compose]


def ask(file: Path, content: str, environ: Mapping[str, str]) -> Compose:
    """Two short runs of `docker compose`, which talk to no daemon. `content` is what `file` says, or will say."""
    version = installed(environ)
    if not version:
        return Compose()
    listed = _run(["-f", "-", "--project-directory", str(file.parent), "config", "--hash", "*"], environ, content)
    pairs = (line.split() for line in listed.splitlines())
    return Compose(version, {pair[0]: pair[1] for pair in pairs if len(pair) == 2})


def installed(environ: Mapping[str, str]) -> str | None:
    """Compose's version, None when it is not installed."""
    return _run(["version", "--short"], environ).strip().removeprefix("v") or None


def _run(arguments: list[str], environ: Mapping[str, str], given: str = "") -> str:
    try:
        done = subprocess.run(
            ["docker", "compose", *arguments],
            input=given,
            env=dict(environ),
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""
