"""Which files Docker Compose reads in a folder, and what the project is called: known without running Compose."""

from __future__ import annotations

import os.path
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import yaml

from kit.errors import Problem, TargetError

FILE = "docker-compose.yaml"
FIRST = ("compose.yaml", "compose.yml", "docker-compose.yml")  # Compose takes one of these instead of FILE
OVERRIDES = tuple(f"{name}.override.{end}" for name in ("compose", "docker-compose") for end in ("yml", "yaml"))
_LINE = re.compile(
    r"""^[^\S\n]*(?:export\s+)?([A-Za-z_][\w.]*)[^\S\n]*[=:][^\S\n]*(?:'([^']*)'|"((?:[^"\\]|\\.)*)"|([^\n]*))""",
    re.MULTILINE,
)


def file_of(folder: Path) -> Path:
    """The folder's compose file, as Compose labels it: absolute, with symbolic links kept."""
    return Path(os.path.normpath(folder.absolute())) / FILE


def compose_files(folder: Path, environ: Mapping[str, str]) -> tuple[Path, ...]:
    """What Compose reads there: COMPOSE_FILE's list, or the folder's file and an override beside it; all absolute.
    Raises TargetError."""
    file, variables = file_of(folder), {**dotenv(folder), **environ}
    if listed := variables.get("COMPOSE_FILE"):
        if "$" in listed:
            raise TargetError(Problem(f"COMPOSE_FILE is {listed!r}", "write it without variables"))
        names = listed.split(variables.get("COMPOSE_PATH_SEPARATOR") or os.pathsep)
        return tuple(Path(os.path.normpath(file.parent / name)) for name in names if name)
    for name in FIRST:
        if (file.parent / name).exists():
            what = f"{name} lies beside {FILE}, and Docker Compose reads it instead"
            raise TargetError(Problem(what, f"remove it, or call it {OVERRIDES[-1]}"))
    beside = (file.parent / name for name in OVERRIDES)
    return (file, *[path for path in beside if path.exists()][:1])


def dotenv(folder: Path, name: str = ".env") -> dict[str, str]:
    """The variables of `.env` as they are written there; {} without one. Raises TargetError."""
    try:
        text = (folder / name).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise TargetError(Problem(f"{folder / name} cannot be read", type(error).__name__)) from None
    found = (match.groups() for match in _LINE.finditer(text))
    return {name: one or two or re.sub(r"(^|\s)#.*", "", plain or "").strip() for name, one, two, plain in found}


def env_values(folder: Path) -> tuple[str, ...]:
    """The values in all files of variables there, `.env` and what `env_file` may name: none of them is to be shown."""
    found: list[str] = []
    for path in (*folder.glob("*.env"), *folder.glob(".env*")):
        with suppress(TargetError):
            found += dotenv(folder, path.name).values()
    return tuple(found)


def project_name(folder: Path, environ: Mapping[str, str]) -> str:
    """COMPOSE_PROJECT_NAME, or the file's `name`, or the folder's name: also where the rest cannot be read."""
    if name := {**dotenv(folder), **environ}.get("COMPOSE_PROJECT_NAME"):
        return name
    file = file_of(folder)
    try:
        found = re.search(r"^name:[^\n]*", file.read_text(encoding="utf-8-sig", errors="replace"), re.MULTILINE)
        name = yaml.safe_load(found.group())["name"] if found else None
    except (OSError, yaml.YAMLError):
        name = None
    return name if isinstance(name, str) else re.sub(r"[^a-z0-9_-]", "", file.parent.name.lower()).lstrip("_-")
