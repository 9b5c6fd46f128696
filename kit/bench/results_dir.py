"""The folder of a benchmark: records.jsonl, which is its memory; raw/ with the loads' own JSON; bench.json."""

from __future__ import annotations

import gzip
import os
import platform
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from kit.assemble import assemble
from kit.bench import journal as lines
from kit.bench.analyze import experiment
from kit.bench.design import (
    AS_GIVEN,
    BenchRequest,
    Protocol,
    StackVariant,
    Step,
    Trial,
    schedule,
    step_id,
)
from kit.bench.experiments import EXPERIMENTS
from kit.bench.journal import (
    BenchStarted,
    Estimated,
    MemoryRead,
    PilotDone,
    Record,
    RunDone,
)
from kit.bench.load_containers import digests
from kit.bench.results import (
    Bench,
    Experiment,
    MeasuredFootprint,
    TestBed,
)
from kit.bench.results_json import from_text, to_text
from kit.bench.run_trial import Outcome
from kit.bench.stacks import StackFolders
from kit.bench.vllm_results import slim
from kit.errors import ManifestError, Problem
from kit.files import read_text, write_atomically
from kit.gpu import Gpu, to_json
from kit.project.write import COMPOSE
from kit.units import gib

if TYPE_CHECKING:
    from kit.bench.session import Session

RECORDS = "records.jsonl"
BENCH = "bench.json"


class ResultsDir:
    """What was written down, and where more of it goes."""

    def __init__(self, folder: Path, records: Sequence[Record]) -> None:
        self.folder, self.records = folder, list(records)

    @classmethod
    def at(cls, folder: Path) -> ResultsDir:
        """Of a folder that may not be there yet. Raises TargetError for records that are none."""
        at = folder / RECORDS
        text = read_text(at) or ""
        if text != lines.whole(text):  # what ended the last benchmark ended it in the middle of a line
            write_atomically(at, lines.whole(text))
        return cls(folder, lines.read(text, str(at)))

    @property
    def nonce(self) -> int:
        """The number that makes this benchmark's prompts its own."""
        first = lines.began(self.records)
        return first.nonce if first else 0

    def add(self, record: Record) -> None:
        """Written down at once, and for good."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / RECORDS).open("a", encoding="utf-8") as file:
            file.write(lines.line(record))
            file.flush()
            os.fsync(file.fileno())
        self.records.append(record)

    def check(self, protocols: Sequence[Protocol], wish: BenchRequest, again: bool) -> None:
        """Runs of another manifest, effort or card are not mixed with these. Raises ManifestError."""
        wanted = {step.key: digest_of(p, step.trial) for p in protocols for step in schedule(p)}
        looks = {f"{p.name}.{t.key}": digest_of(p, t) for p in protocols for t in p.trials}
        stale = [r.key for r in self.records if isinstance(r, RunDone) and wanted.get(r.key, r.digest) != r.digest]
        stale += [r.key for r in self.records if isinstance(r, PilotDone) and looks.get(r.key, r.digest) != r.digest]
        stale += [r.setup for r in self.records if isinstance(r, BenchStarted) and r.setup not in ("", setup_of(wish))]
        if stale and not again:
            problem = f"{self.folder} holds results of another manifest, profile or card ({stale[0]})"
            needed = "needed: another folder with -o, or --again to measure anew"
            raise ManifestError(Problem(problem, f"{needed}{self._less_free(wish.plan.gpu)}"))
        if again:
            for name in (RECORDS, BENCH):
                (self.folder / name).unlink(missing_ok=True)
            self.records = []

    def _less_free(self, gpu: Gpu) -> str:
        """When other programs hold more of the card than in the beginning, the stacks are of another size."""
        first = lines.began(self.records)
        if gpu.kind == "host" or first is None or first.free_bytes <= gpu.free_bytes:
            return ""
        free = f"{gib(first.free_bytes)} of the card were free then and {gib(gpu.free_bytes)} are now"
        return f"; {free}: end what holds the rest"

    def keep_raw(self, step: Step, outcome: Outcome) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Each process's JSON in two files: its sums, and (gzip) its lists of every request. Returns the names of the
        first, and the commands."""
        names, commands = [], []
        for index, part in enumerate(part for parts in outcome.parts for part in parts):
            name = f"{step_id(step)}.{index}"
            sums, lists = slim(part.sent.result)
            write_atomically(self._made("raw") / f"{name}.json", sums)
            (self._made("detail") / f"{name}.json.gz").write_bytes(gzip.compress(lists.encode(), mtime=0))
            names.append(f"raw/{name}.json")
            commands.append(shlex.join(("vllm", *part.command)))
        return tuple(names), tuple(commands)

    def keep_stack(self, stand: StackVariant, place: StackFolders) -> None:
        """The compose file of a stack that is measured."""
        at = place.given if stand.key == AS_GIVEN else place.others
        text = read_text(at / COMPOSE)
        if text is not None:
            name = "".join(c if c.isalnum() else "-" for c in stand.key)
            write_atomically(self._made("stacks") / f"{name}.yaml", text)

    def _made(self, name: str) -> Path:
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def write_bench(self, session: Session, protocols: Sequence[Protocol]) -> Path:
        """bench.json of what is done by now; experiments that this command is not about, or leaves out, stay in it."""
        ran, at = lines.runs(self.records), self.folder / BENCH
        found = tuple(experiment(protocol, ran) for protocol in protocols)
        names = {one.name for one in found}
        before = from_text(text, str(at)).experiments if (text := read_text(at)) else ()
        known = {one.name: one for one in before if one.comparisons}
        found = tuple(one if one.comparisons else known.get(one.name, one) for one in found)
        told = [record for record in self.records if isinstance(record, Estimated)]
        made = Bench(
            setup=_setup(session, self.folder),
            experiments=_in_order((*(one for one in before if one.name not in names), *found)),
            memory=_memory(session, self.records),
            started=first.at if (first := lines.began(self.records)) else "",
            told_seconds=told[-1].told if told else None,
            took_seconds=told[-1].took if told else None,
        )
        self.folder.mkdir(parents=True, exist_ok=True)
        write_atomically(at, to_text(made))
        return at


def _in_order(found: Iterable[Experiment]) -> tuple[Experiment, ...]:
    """As they are run; whichever command measured them."""
    places = list(EXPERIMENTS)
    return tuple(sorted(found, key=lambda one: places.index(one.name) if one.name in places else len(places)))


def setup_of(wish: BenchRequest) -> str:
    """What all results of a folder have in common: the card and the manifest."""
    gpu, said = wish.plan.gpu, wish.manifest.model_dump_json()
    return f"{gpu.name}, {gpu.total_bytes:,} bytes, manifest {sha256(said.encode()).hexdigest()[:16]}"


def digest_of(protocol: Protocol, trial: Trial) -> str:
    """16 hexadecimal digits that change with what is measured."""
    said = f"{protocol.name} {trial.stand.manifest.model_dump_json()} {replace(trial, stand=StackVariant('', None))!r}"  # type: ignore[arg-type]
    return sha256(said.encode()).hexdigest()[:16]


def load_digest(trial: Trial) -> str:
    """16 hexadecimal digits that change with what is sent, and with the stack that it is sent to."""
    said = f"{trial.stand.manifest.model_dump_json()} {trial.loads!r}"
    return sha256(said.encode()).hexdigest()[:16]


def load_seeds(trial: Trial, seed: str, nonce: int) -> Trial:
    """The trial with prompts that no other run has."""
    start = int(sha256(f"{nonce} {seed}".encode()).hexdigest()[:6], 16)
    return replace(trial, loads=tuple(replace(load, seed=start + i) for i, load in enumerate(trial.loads)))


def _memory(session: Session, records: Sequence[Record]) -> tuple[MeasuredFootprint, ...]:
    held: dict[str, int] = next((record.bytes for record in records if isinstance(record, MemoryRead)), {})
    return tuple(
        MeasuredFootprint(
            share.service, tuple((line.label, line.bytes) for line in share.lines), held.get(share.service)
        )
        for share in session.wish.plan.shares
    )


def _setup(session: Session, folder: Path) -> TestBed:
    from kit import __version__

    return TestBed(
        manifest=session.file.read_text(encoding="utf-8"),
        profile=session.options.profile,
        card=to_json(session.gpu),
        images=digests(session.client, (service.image for service in assemble(session.wish.plan).services)),
        host={"cpu": _cpu(), "cores": str(os.cpu_count()), "kernel": platform.release()},
        versions={"monogpu-kit": __version__, "docker": str(session.client.version()["Version"])},
        stacks=tuple(sorted(f"stacks/{path.name}" for path in (folder / "stacks").glob("*.yaml"))),
    )


def _cpu() -> str:
    """The processor's name, "unknown" where the kernel does not tell."""
    for line in (read_text(Path("/proc/cpuinfo")) or "").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return "unknown"
