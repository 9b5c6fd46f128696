"""`bench` on a copy of the CPU demo, as a value: nothing runs, and its Engine is asked for versions alone."""

from __future__ import annotations

import io
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from docker.errors import ImageNotFound

from kit.bench.design import (
    EFFORTS,
    BenchOptions,
    BenchRequest,
    Protocol,
    Step,
    schedule,
)
from kit.bench.journal import RunDone
from kit.bench.results import Bench, Figures, from_text
from kit.bench.results_dir import (
    ResultsDir,
    digest_of,
)
from kit.bench.session import describe, footprints
from kit.bench.steps import Session
from kit.output.console import Output
from kit.project.load import planned_for, read_project
from tests.support.benchrequests import HOST, protocols
from tests.support.typed import ROOT

FIGURES = Figures(100.0, 10.0, 80, 0)


def copied(folder: Path) -> Session:
    """`bench` in a folder that becomes the demo's copy."""
    for name in ("monogpu.yaml", "facts.json"):
        shutil.copy(ROOT / "compose" / "cpu-demo" / name, folder)
    return opened(folder)


def opened(folder: Path, change: str = "") -> Session:
    """The same once more; `change` is what the manifest says of contexts from now on."""
    file = folder / "monogpu.yaml"
    file.write_text(file.read_text().replace("context: 2k", change) if change else file.read_text())
    project = read_project(file)
    request = BenchRequest(planned_for(project, HOST), EFFORTS["quick"])
    output = Output(io.StringIO(), io.StringIO())
    return Session(output, file, project, cast(Any, Engine()), HOST, request, BenchOptions(profile="quick"), False)


class Engine:
    """The part of a Docker client that is asked what ran."""

    def __init__(self) -> None:
        self.images = self

    def version(self) -> dict[str, str]:
        return {"Version": "26.1.5"}

    def get(self, name: str) -> Any:
        if not name.startswith("monogpu/smg"):
            raise ImageNotFound("no such image")
        self.attrs = {"RepoDigests": [], "Id": "sha256:abc"}
        return self


def some(of: Session, *names: str) -> list[Protocol]:
    return [one for name, one in protocols(of.request).items() if name in (names or ("router",))]


def ran(protocol: Protocol, step: Step) -> RunDone:
    models = {load.name: FIGURES for load in step.trial.loads}
    return RunDone(step.key, digest_of(protocol, step.trial), 9.0, 8.0, models=models, started=None if models else 3.0)


def do(files: ResultsDir, *mine: Protocol, upto: int | None = None) -> list[RunDone]:
    done = [ran(one, step) for one in mine for step in schedule(one)][:upto]
    for record in done:
        files.add(record)
    return done


def write_bench(files: ResultsDir, session: Session, mine: Sequence[Protocol]) -> Path:
    return files.write_bench(mine, describe(session), footprints(session, files.records))


def folder_of(session: Session) -> Path:
    return session.project.folder / "bench"


def bench_of(session: Session) -> Bench:
    return from_text((folder_of(session) / "bench.json").read_text(), "bench.json")
