"""The walk of `bench`: stacks stand up, loads are sent, and everything that was seen is written down at once."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from kit.bench import journal as lines
from kit.bench.analyze import experiment
from kit.bench.design import (
    AS_GIVEN,
    BenchRequest,
    Protocol,
    StackVariant,
    schedule,
)
from kit.bench.estimate import words
from kit.bench.homes import at_home
from kit.bench.journal import BenchStarted, Estimated
from kit.bench.load_containers import Loaders, loaders
from kit.bench.progress import found_lines, told_lines
from kit.bench.results_dir import (
    ResultsDir,
    setup_of,
)
from kit.bench.stacks import (
    StackFolders,
    StackRunner,
    verified,
)
from kit.bench.steps import StepRunner
from kit.compose import up as compose
from kit.errors import KitError
from kit.gpu import Gpu
from kit.output.console import Output
from kit.output.progress import Watcher
from kit.project.load import Project, planned_for
from kit.project.write import COMPOSE, rendered_from, write

if TYPE_CHECKING:
    from docker import DockerClient

    from kit.bench.design import BenchOptions

PATIENCE = 60.0


@dataclass(frozen=True)
class Session:
    """What one `bench` works with. `running`: the user's stack ran before."""

    output: Output
    file: Path
    project: Project
    client: DockerClient
    gpu: Gpu
    wish: BenchRequest
    options: BenchOptions
    running: bool


def walk(session: Session, protocols: Sequence[Protocol], files: ResultsDir) -> int:
    """Everything that is not done yet. Whatever ends it, what is done is kept and reported, and the user's stack is
    left as it was."""
    output, name = session.output, session.project.manifest.name
    files.check(protocols, session.wish, session.options.again)
    if not files.records:
        at = datetime.now(UTC).isoformat(timespec="seconds")
        files.add(BenchStarted(at, secrets.randbits(20), setup_of(session.wish), session.gpu.free_bytes))
    output.say(*told_lines(protocols, files.records, session.running))
    with loaders(session.client, name) as loads:
        environ = compose.variables(session.project.folder, output.environ)
        place, timeout = _place(session, files.folder / "stack", environ), session.options.timeout
        ground = StackRunner(session.client, environ, place, loads, lambda: Watcher(output.progress()), timeout)
        try:
            _go(session, protocols, files, ground, loads)
        finally:
            try:
                write_down(session, protocols, files)
            finally:
                loads.leave()
                _restore(session, ground)
    return 0


def _go(
    session: Session, protocols: Sequence[Protocol], files: ResultsDir, ground: StackRunner, loads: Loaders
) -> None:
    work = StepRunner(session, protocols, files, ground, loads, os.cpu_count() or 1)
    work.look_ahead()
    told = work.left()
    session.output.say(f"what is left takes {words(told)}; Ctrl-C keeps what is done, the same command goes on")
    began = time.monotonic()
    for protocol in protocols:
        for step in schedule(protocol):
            work.do(protocol, step)
        session.output.print(*found_lines(experiment(protocol, lines.runs(files.records))))
    work.read_memory()
    if told:
        files.add(Estimated(told, time.monotonic() - began))


def _place(session: Session, others: Path, environ: Mapping[str, str]) -> StackFolders:
    """Where the stacks are made: the user's beside the manifest, the `others` in a folder of theirs. `environ` has the
    words of `.env` beside the user's stack too: they are everyone's."""

    def stand_files(stand: StackVariant, folder: Path) -> None:
        project = replace(session.project, manifest=stand.manifest)
        plan = at_home(planned_for(project, session.gpu), session.project.folder)
        folder.mkdir(parents=True, exist_ok=True)
        write(folder / COMPOSE, rendered_from(project, plan), force=True)

    return StackFolders(
        project=session.project.manifest.name,
        given=session.project.folder,
        others=others,
        bring=lambda: _bring(session),
        write=stand_files,
        verify=lambda folder: verified(folder, session.client, environ, PATIENCE),
    )


def _bring(session: Session) -> None:
    """The user's stack, as `up` brings it up."""
    from kit.project import apply

    plan = apply.decide(session.project, session.client, session.output.environ)
    apply.bring_up(session.output, plan, session.options.timeout)


def write_down(session: Session, protocols: Sequence[Protocol], files: ResultsDir) -> None:
    """bench.json, of all that is done. That it cannot be written does not hide what broke the walk."""
    try:
        place = files.write_bench(session, protocols)
    except KitError as error:
        session.output.say(f"what was measured lies in {files.folder}, and its bench.json cannot be written: {error}")
        return
    session.output.say(f"wrote {place}; `monogpu-kit report {place.parent}` makes a page of it")


def _restore(session: Session, ground: StackRunner) -> None:
    """The user's stack as it was before: running, or not there."""
    now = ground.now
    if session.running and ground.changed and (now is None or now.key != AS_GIVEN):
        session.output.say("bringing back the stack that ran before")
        compose.down(session.project.manifest.name, session.client)
        _bring(session)
    if not session.running:
        try:
            compose.down(session.project.manifest.name, session.client)
        except KitError as error:
            session.output.say(f"the stack is left as it is: {error}")
