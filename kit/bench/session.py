"""A whole `bench`: stacks are started, loads are sent, and everything is written down at once."""

from __future__ import annotations

import os
import platform
import secrets
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from kit.assemble import assemble
from kit.bench.analyze import experiment
from kit.bench.design import AS_GIVEN, Protocol, StackVariant, schedule
from kit.bench.journal import BenchStarted, Estimated, MemoryRead, Record
from kit.bench.load_containers import Loaders, digests, loaders
from kit.bench.progress import found_lines, plan_lines
from kit.bench.results import MeasuredFootprint, TestBed
from kit.bench.results_dir import ResultsDir, setup_of
from kit.bench.stacks import StackFolders, StackRunner, printed_alone, verified, with_absolute_paths
from kit.bench.steps import Session, StepRunner
from kit.compose import up as compose
from kit.errors import KitError
from kit.files import read_text
from kit.gpu import to_json
from kit.output.progress import Watcher
from kit.project.load import planned_for
from kit.project.write import COMPOSE, rendered_from, write
from kit.units import duration

PATIENCE = 60.0


def run(session: Session, protocols: Sequence[Protocol], files: ResultsDir) -> int:
    """Measure everything that is not done yet. Whatever ends it, what is done is kept and reported, and the user's
    stack is left as it was."""
    output, name = session.output, session.project.manifest.name
    files.check(protocols, session.request, session.options.fresh)
    if not files.records:
        at = datetime.now(UTC).isoformat(timespec="seconds")
        files.add(BenchStarted(at, secrets.randbits(20), setup_of(session.request), session.gpu.free_bytes))
    output.say(*plan_lines(protocols, files.records, session.running))
    with loaders(session.client, name) as loads:
        folders, timeout = _folders(session, files.folder / "stack"), session.options.timeout
        stacks = StackRunner(
            session.client, output.environ, folders, loads, lambda: Watcher(output.progress()), timeout
        )
        try:
            _measure(session, protocols, files, stacks, loads)
        finally:
            try:
                write_down(session, protocols, files)
            finally:
                loads.leave()
                _restore(session, stacks)
    return 0


def _measure(
    session: Session, protocols: Sequence[Protocol], files: ResultsDir, stacks: StackRunner, loads: Loaders
) -> None:
    steps = StepRunner(session, protocols, files, stacks, loads, os.cpu_count() or 1)
    steps.run_pilots()
    estimated, start = steps.left(), time.monotonic()
    session.output.say(f"estimated {duration(estimated)}; interrupt with Ctrl-C, run the same command to resume")
    for protocol in protocols:
        for step in schedule(protocol):
            steps.do(protocol, step)
        session.output.print(*found_lines(experiment(protocol, files.runs)))
    steps.read_memory()
    if estimated:
        files.add(Estimated(estimated, time.monotonic() - start))


def _folders(session: Session, others: Path) -> StackFolders:
    """Where the stacks are: the user's beside the manifest, the `others` in a folder of their own, which has the same
    `.env`, and no file but the printed one."""
    environ, env = session.output.environ, session.project.folder / ".env"

    def write_stack(variant: StackVariant, folder: Path) -> None:
        project = replace(session.project, manifest=variant.manifest)
        plan = with_absolute_paths(planned_for(project, session.gpu), session.project.folder)
        folder.mkdir(parents=True, exist_ok=True)
        if env.exists() and not (folder / env.name).exists():
            (folder / env.name).symlink_to(env)
        write(folder / COMPOSE, rendered_from(project, plan), force=True)

    return StackFolders(
        project=session.project.manifest.name,
        given=session.project.folder,
        others=others,
        bring_given=lambda: _bring_given(session),
        write=write_stack,
        verify=lambda folder: verified(
            folder, session.client, printed_alone(environ) if folder == others else environ, PATIENCE
        ),
    )


def _bring_given(session: Session) -> None:
    """Bring up the user's stack, as `up` does."""
    from kit.project import apply

    plan = apply.decide(session.project, session.client, session.output.environ)
    apply.bring_up(session.output, plan, session.options.timeout)


def write_down(session: Session, protocols: Sequence[Protocol], files: ResultsDir) -> None:
    """Write bench.json of all that is done. A failure to write it does not hide what ended the benchmark."""
    try:
        place = files.write_bench(protocols, describe(session), footprints(session, files.records))
    except KitError as error:
        session.output.say(f"the results are in {files.folder}, but its bench.json cannot be written: {error}")
        return
    session.output.say(f"wrote {place}; `monogpu-kit report {place.parent}` makes a page of it")


def _restore(session: Session, stacks: StackRunner) -> None:
    """The user's stack as it was before: running, or removed."""
    now = stacks.now
    if session.running and stacks.changed and (now is None or now.key != AS_GIVEN):
        session.output.say("bringing back the stack that ran before")
        compose.down(session.project.manifest.name, session.client)
        _bring_given(session)
    if not session.running:
        try:
            compose.down(session.project.manifest.name, session.client)
        except KitError as error:
            session.output.say(f"the stack is left as it is: {error}")


def footprints(session: Session, records: Sequence[Record]) -> tuple[MeasuredFootprint, ...]:
    """Each worker's bill, and its memory where that was read."""
    measured: dict[str, int] = next((record.bytes for record in records if isinstance(record, MemoryRead)), {})
    return tuple(
        MeasuredFootprint(one.service, tuple((line.label, line.bytes) for line in one.lines), measured.get(one.service))
        for one in session.request.plan.shares
    )


def describe(session: Session) -> TestBed:
    """What runs, and on what machine."""
    from kit import __version__

    info = (read_text(Path("/proc/cpuinfo")) or "").splitlines()
    cpu = next((line.partition(":")[2].strip() for line in info if line.startswith("model name")), "unknown")
    return TestBed(
        manifest=session.file.read_text(encoding="utf-8"),
        profile=session.options.profile,
        card=to_json(session.gpu),
        images=digests(session.client, (service.image for service in assemble(session.request.plan).services)),
        host={"cpu": cpu, "cores": str(os.cpu_count()), "kernel": platform.release()},
        versions={"monogpu-kit": __version__, "docker": str(session.client.version()["Version"])},
    )
