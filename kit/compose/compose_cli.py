"""Docker Compose's command line: it reads a project's files, and says with which hash it labels each service.

What it prints has secrets in the clear: nothing of it is shown but paths of keys, and errors without values.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from kit.compose import config
from kit.compose.compose_files import compose_files, dotenv, file_of
from kit.compose.config_errors import Texts, placed, problem_of
from kit.compose.config_keys import OLDEST_COMPOSE
from kit.compose.spec import ProjectSpec
from kit.errors import Problem, TargetError
from kit.units import release, release_text

SECONDS = 30
INSTALL = "`sudo apt-get install docker-compose-plugin`, or https://docs.docker.com/compose/install/linux/"


@dataclass(frozen=True)
class CliResult:
    """How a run of a program ended, and what it printed."""

    code: int
    out: str = ""
    err: str = ""


# Arguments, folder, environment and standard input -> what `docker compose` prints.
Run = Callable[[Sequence[str], Path, Mapping[str, str], str], CliResult]


def run_compose(arguments: Sequence[str], folder: Path, environ: Mapping[str, str], given: str = "") -> CliResult:
    """One short run of `docker compose`, which talks to no daemon."""
    command = ["docker", "compose", *arguments]
    try:
        done = subprocess.run(
            command, cwd=folder, input=given.encode(), env=dict(environ), capture_output=True, timeout=SECONDS
        )
    except OSError:
        return CliResult(127)
    except subprocess.TimeoutExpired:
        return CliResult(124, err=f"it did not end within {SECONDS} s")
    return CliResult(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))


def compose_version(environ: Mapping[str, str], run: Run = run_compose) -> str | None:
    """Compose's version, None when it is not installed."""
    answer = run(["version", "--short"], Path(), environ, "")
    return (answer.out.strip().removeprefix("v") or None) if answer.code == 0 else None


@dataclass(frozen=True)
class ComposeSource:
    """What Compose reads of a folder: its files, one of which may have the text `given` instead of the one on disk."""

    file: Path
    files: tuple[Path, ...]
    environ: Mapping[str, str]
    given: str | None = None
    run: Run = run_compose

    def ask(self, *arguments: str) -> CliResult:
        """Run `docker compose` on the files."""
        names = ["-" if self.given is not None and path == self.file else str(path) for path in self.files]
        return self._run([word for name in names for word in ("-f", name)], arguments, self.given or "")

    def _run(self, files: Sequence[str], arguments: Sequence[str], given: str) -> CliResult:
        place = ["--project-directory", str(self.files[0].parent)]
        return self.run([*files, *place, *arguments], self.file.parent, self.environ, given)

    def texts(self) -> Texts:
        """The files' texts, as far as they can be read."""
        there = {path: path.read_bytes().decode("utf-8-sig", "replace") for path in self.files if path.is_file()}
        return {**there, **({self.file: self.given} if self.given is not None else {})}

    def resolved(self, *arguments: str) -> str:
        """The project as Compose prints it, resolved. Raises TargetError."""
        answer = self.ask("config", "--format", "json", *arguments)
        if answer.code == 0:
            return answer.out
        checked(compose_version(self.environ, self.run))
        variables = {**dotenv(self.file.parent), **self.environ}
        raise TargetError(problem_of(answer.err, self.texts(), variables))

    def project(self) -> ProjectSpec:
        """The same as values. Raises TargetError, with the line of each key that is not translated."""
        found = config.parse(self.resolved())
        try:
            return config.project(found, self.file, self.files)
        except TargetError as error:
            texts = self.texts()
            raise TargetError([placed(each, each.path, texts) for each in error.problems]) from None

    def hashes(self) -> dict[str, str]:
        """Service -> what Compose labels its container with. It hashes the resolved project: where a service has an
        `env_file`, what the files come to is another hash. Of the two forms, YAML alone can be read again."""
        words, resolved = ["config", "--hash", "*"], self.ask("config").out
        answer = self._run(["-f", "-"], words, resolved)
        if answer.code and resolved:
            answer = self._run(["-f", "-"], words, config.without_absent(resolved))
        pairs = (line.split() for line in answer.out.splitlines())
        return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}


@dataclass(frozen=True)
class Loaded:
    """A project as Compose reads it, the hash with which it labels each service, and its version."""

    project: ProjectSpec
    hashes: Mapping[str, str]
    version: str


def source(folder: Path, environ: Mapping[str, str], given: str | None = None, run: Run = run_compose) -> ComposeSource:
    """What Compose reads in a folder. Raises TargetError."""
    file = file_of(folder)
    files = compose_files(folder, environ)
    if file in files and given is None and not file.exists():
        raise TargetError(Problem(f"{file} is not there", "`monogpu-kit render` prints it"))
    return ComposeSource(file, files, environ, given, run)


def load(folder: Path, environ: Mapping[str, str], given: str | None = None, run: Run = run_compose) -> Loaded:
    """A folder's project, and what Compose labels it with: short runs at the same time. Raises TargetError."""
    found = source(folder, environ, given, run)
    with ThreadPoolExecutor(2) as pool:
        version, asked = pool.submit(compose_version, environ, run), pool.submit(found.hashes)
        project, hashes = found.project(), asked.result()
        return Loaded(_with_hashes(project, hashes), hashes, checked(version.result()))


def _with_hashes(project: ProjectSpec, hashes: Mapping[str, str]) -> ProjectSpec:
    missing = [service.name for service in project.services if service.name not in hashes]
    if missing:
        raise TargetError(Problem(f"Docker Compose has no hash of {', '.join(missing)}", "run the command again"))
    return project


def checked(version: str | None) -> str:
    """The version, when it is one that can be used. Raises TargetError."""
    oldest = release_text(OLDEST_COMPOSE)
    if version is None:
        what = "the Docker Compose plug-in, which reads the compose file, is not installed"
        raise TargetError(Problem(what, f"{oldest} or newer", INSTALL))
    found = release(version)
    if found is not None and found < OLDEST_COMPOSE:
        raise TargetError(Problem(f"Docker Compose {version} is too old", f"{oldest} or newer", INSTALL))
    return version


def not_as_billed(
    folder: Path, environ: Mapping[str, str], given: str | None = None, run: Run = run_compose
) -> dict[str, tuple[str, ...]]:
    """Planned worker -> the keys that files beside the printed one change. Without values of variables: secrets may be
    unset. Raises TargetError."""
    merged = source(folder, environ, given, run)
    if merged.files == (merged.file,):
        return {}
    alone = replace(merged, files=(merged.file,))
    as_written = ("--no-interpolate",)
    printed, all_of_it = alone.resolved(*as_written), merged.resolved(*as_written)
    return config.not_as_billed(config.parse(printed), config.parse(all_of_it))
