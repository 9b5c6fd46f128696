"""The folder of a benchmark: records.jsonl, from which it resumes; raw/ with the load generator's JSON; bench.json."""

from __future__ import annotations

import gzip
import os
import shlex
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from kit.bench import journal
from kit.bench.analyze import experiment
from kit.bench.design import BenchRequest, Protocol, StackVariant, Step, Trial, schedule, step_id
from kit.bench.experiments import EXPERIMENTS
from kit.bench.journal import BenchStarted, Estimated, PilotDone, Record, RunDone
from kit.bench.results import BENCH, Bench, MeasuredFootprint, TestBed, from_text, to_text
from kit.bench.run_trial import TrialResult
from kit.bench.vllm_results import slim
from kit.errors import ManifestError, Problem
from kit.files import read_text, write_atomically
from kit.gpu import Gpu
from kit.units import gib

RECORDS = "records.jsonl"


class ResultsDir:
    """The records of a folder, and where new ones go."""

    def __init__(self, folder: Path, records: Sequence[Record]) -> None:
        self.folder, self.records = folder, list(records)

    @classmethod
    def at(cls, folder: Path) -> ResultsDir:
        """Of a folder that need not exist yet. Raises TargetError for a broken records.jsonl."""
        at = folder / RECORDS
        text = read_text(at) or ""
        records = journal.read(text, str(at))
        if text != journal.whole(text):  # the last benchmark was interrupted in the middle of a line
            write_atomically(at, journal.whole(text))
        return cls(folder, records)

    @property
    def nonce(self) -> int:
        """The number that makes this benchmark's prompts its own."""
        first = journal.bench_started(self.records)
        return first.nonce if first else 0

    @property
    def runs(self) -> dict[str, RunDone]:
        """Key -> run."""
        return journal.runs(self.records)

    def add(self, record: Record) -> None:
        """Write a record down at once, and durably."""
        with (self._folder() / RECORDS).open("a", encoding="utf-8") as file:
            file.write(journal.line(record))
            file.flush()
            os.fsync(file.fileno())
        self.records.append(record)

    def check(self, protocols: Sequence[Protocol], request: BenchRequest, fresh: bool) -> None:
        """Runs of another manifest, effort or card are not mixed: raise ManifestError, or with `fresh` remove them."""
        runs = {step.key: digest_of(p, step.trial) for p in protocols for step in schedule(p)}
        pilots = {f"{p.name}.{t.key}": digest_of(p, t) for p in protocols for t in p.trials}
        stale = [r.key for r in self.records if isinstance(r, RunDone) and runs.get(r.key, r.digest) != r.digest]
        stale += [r.key for r in self.records if isinstance(r, PilotDone) and pilots.get(r.key, r.digest) != r.digest]
        first = journal.bench_started(self.records)
        stale += [first.setup] if first and first.setup not in ("", setup_of(request)) else []
        if fresh:
            for name in (RECORDS, BENCH):
                (self.folder / name).unlink(missing_ok=True)
            self.records = []
        elif stale:
            problem = f"{self.folder} holds results of another manifest, profile or card ({stale[0]})"
            needed = f"needed: another folder with -o, or --fresh{_less_free(first, request.plan.gpu)}"
            raise ManifestError(Problem(problem, needed))

    def keep_raw(self, step: Step, result: TrialResult) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Each process's JSON in two files: its sums, and (gzip) its lists of every request. Returns the names of the
        first, and the commands."""
        names, commands = [], []
        for index, part in enumerate(part for parts in result.parts for part in parts):
            name = f"{step_id(step)}.{index}"
            sums, lists = slim(part.sent.result)
            write_atomically(self._folder("raw") / f"{name}.json", sums)
            (self._folder("detail") / f"{name}.json.gz").write_bytes(gzip.compress(lists.encode(), mtime=0))
            names.append(f"raw/{name}.json")
            commands.append(shlex.join(("vllm", *part.command)))
        return tuple(names), tuple(commands)

    def keep_stack(self, variant: StackVariant, compose: Path) -> None:
        """Keep the compose file of a stack that is measured."""
        if (text := read_text(compose)) is not None:
            name = "".join(c if c.isalnum() else "-" for c in variant.key)
            write_atomically(self._folder("stacks") / f"{name}.yaml", text)

    def _folder(self, name: str = "") -> Path:
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def write_bench(self, protocols: Sequence[Protocol], setup: TestBed, memory: tuple[MeasuredFootprint, ...]) -> Path:
        """Write bench.json of what is done by now; experiments that this command skips or leaves out stay in it."""
        at = self.folder / BENCH
        before = from_text(text, str(at)).experiments if (text := read_text(at)) else ()
        experiments = {one.name: one for one in before}
        for found in (experiment(protocol, self.runs) for protocol in protocols):
            if found.comparisons or found.name not in experiments or not experiments[found.name].comparisons:
                experiments[found.name] = found
        names = [*EXPERIMENTS, *experiments]  # in the order in which they run, whichever command measured them
        first = journal.bench_started(self.records)
        last = next((record for record in reversed(self.records) if isinstance(record, Estimated)), None)
        made = Bench(
            setup=replace(setup, stacks=tuple(sorted(f"stacks/{p.name}" for p in self.folder.glob("stacks/*.yaml")))),
            experiments=tuple(experiments[name] for name in dict.fromkeys(names) if name in experiments),
            memory=memory,
            started=first.at if first else "",
            estimated_seconds=last.estimated if last else None,
            actual_seconds=last.actual if last else None,
        )
        self._folder()
        write_atomically(at, to_text(made))
        return at


def _less_free(first: BenchStarted | None, gpu: Gpu) -> str:
    """When other programs hold more of the card than in the beginning, the stacks have another size."""
    if gpu.kind == "host" or first is None or first.free_bytes <= gpu.free_bytes:
        return ""
    then, now = gib(first.free_bytes), gib(gpu.free_bytes)
    return f"; {then} of the card were free then and {now} are now: end what holds the rest"


def setup_of(request: BenchRequest) -> str:
    """What all results of a folder have in common: the card and the manifest."""
    gpu = request.plan.gpu
    return f"{gpu.name}, {gpu.total_bytes:,} bytes, manifest {_digest(request.manifest.model_dump_json())}"


def digest_of(protocol: Protocol, trial: Trial) -> str:
    """16 hexadecimal digits that change with what is measured."""
    return _digest(f"{protocol.name} {trial.variant.manifest.model_dump_json()} {replace(trial, variant=None)!r}")  # type: ignore[arg-type]


def load_digest(trial: Trial) -> str:
    """16 hexadecimal digits that change with what is sent, and with the stack that it is sent to."""
    return _digest(f"{trial.variant.manifest.model_dump_json()} {trial.loads!r}")


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]


def load_seeds(trial: Trial, seed: str, nonce: int) -> Trial:
    """The trial with prompts that no other run has."""
    start = int(sha256(f"{nonce} {seed}".encode()).hexdigest()[:6], 16)
    return replace(trial, loads=tuple(replace(load, seed=start + i) for i, load in enumerate(trial.loads)))
