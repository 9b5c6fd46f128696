"""The steps of `bench`: start a stack, run a pilot that says how much to send, send loads, keep records."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from kit.bench import journal
from kit.bench.design import AS_GIVEN, BenchOptions, BenchRequest, Protocol, StackVariant, Step, Trial, schedule
from kit.bench.estimate import left, observations, sizes_of, turns
from kit.bench.journal import MemoryRead, PilotDone, RunDone
from kit.bench.load_containers import Loaders
from kit.bench.progress import Bar, pilot_text, run_line
from kit.bench.results_dir import ResultsDir, digest_of, load_digest, load_seeds
from kit.bench.run_trial import TrialResult, send
from kit.bench.sizing import PILOT_SECONDS, Size, first_pilot, may_split, next_processes, sized, timed
from kit.bench.stacks import StackRunner
from kit.errors import TargetError
from kit.gpu import Gpu, GpuError
from kit.output.console import Output
from kit.project.load import LIVE, Project, choose_gpu
from kit.project.write import COMPOSE
from kit.status.collect import collect

if TYPE_CHECKING:
    from docker import DockerClient

MAX_PILOTS = 4  # after the first
PAUSE = 10.0  # seconds between a load that failed and the next try


@dataclass(frozen=True)
class Session:
    """What one `bench` works with. `running`: the user's stack ran before."""

    output: Output
    file: Path
    project: Project
    client: DockerClient
    gpu: Gpu
    request: BenchRequest
    options: BenchOptions
    running: bool


class StepRunner:
    """Runs one step after another on a machine of `cores`."""

    def __init__(
        self,
        session: Session,
        protocols: Sequence[Protocol],
        files: ResultsDir,
        stacks: StackRunner,
        loads: Loaders,
        cores: int,
    ) -> None:
        self.session, self.protocols, self.files = session, protocols, files
        self.stacks, self.loads, self.cores = stacks, loads, cores
        self.bar = Bar(session.output.progress(), sum(1 for p in protocols for _ in schedule(p)))

    def run_pilots(self) -> None:
        """Start the stack as given and run the pilots of all that is measured on it: the estimate needs them."""
        done = self.files.runs
        todo = {
            f"{p.name}.{s.trial.key}": (p, s.trial) for p in self.protocols for s in schedule(p) if s.key not in done
        }
        for protocol, trial in todo.values():
            if trial.variant.key == AS_GIVEN and not trial.variant.recreate:
                self._ensure(trial.variant)
                self._pilot(protocol, trial)

    def do(self, protocol: Protocol, step: Step) -> None:
        """Run a step, unless it is done."""
        if step.key in self.files.runs:
            self.bar.count += 1
            return
        run = self._start(protocol, step) if step.trial.variant.recreate else self._measure(protocol, step)
        self.files.add(run)
        self.bar.done(run_line(protocol, step, run), self.left())

    def left(self) -> float:
        """Seconds until everything is done, estimated."""
        return left(self.protocols, observations(self.files.records, self.cores), self.stacks.now)

    def read_memory(self) -> None:
        """Record the memory of the workers of the stack as given, once, after their load."""
        now = self.stacks.now
        if now is None or now.key != AS_GIVEN or any(isinstance(r, MemoryRead) for r in self.files.records):
            return
        found = collect(self.session.client, self.session.project.manifest.name, self._card_now)
        self.files.add(
            MemoryRead({one.service: one.held for one in found.services if one.held and one.role == "worker"})
        )

    def _card_now(self) -> Gpu | None:
        try:
            return choose_gpu(self.session.project, LIVE)
        except GpuError:
            return None

    def _ensure(self, variant: StackVariant) -> None:
        if self.stacks.now is not None and self.stacks.now.key != variant.key:
            self.read_memory()
        self.bar.close()
        started = self.stacks.ensure(variant)
        if started is not None and (self.stacks.changed or not self.session.running):
            self.files.add(replace(started, turns=turns(variant, self.cores)))
        self.files.keep_stack(variant, self.stacks.folders.of(variant) / COMPOSE)

    def _start(self, protocol: Protocol, step: Step) -> RunDone:
        self.read_memory()
        self.bar.close()
        variant = step.trial.variant
        seconds, phases = self.stacks.measure_start(variant)
        self.files.keep_stack(variant, self.stacks.folders.of(variant) / COMPOSE)
        return RunDone(step.key, digest_of(protocol, step.trial), seconds, started=seconds, phases=phases)

    def _measure(self, protocol: Protocol, step: Step) -> RunDone:
        self._ensure(step.trial.variant)
        self._pilot(protocol, step.trial)
        sizes = sizes_of(protocol, journal.sizes(self.files.records))
        result = self._send(sized(step.trial, sizes, protocol.trials), step.key, step.key)
        raw, commands = self.files.keep_raw(step, result)
        return RunDone(
            step.key, digest_of(protocol, step.trial), result.seconds, result.sending, result.overlap, result.figures,
            raw=raw, commands=commands, cpu=dict(result.cpu),
        )  # fmt: skip

    def _pilot(self, protocol: Protocol, trial: Trial) -> None:
        key = f"{protocol.name}.{trial.key}"
        if not trial.seconds or key in journal.sizes(self.files.records):
            return
        start, load, digest = time.monotonic(), load_digest(trial), digest_of(protocol, trial)
        alike = [r for r in self.files.records if isinstance(r, PilotDone) and r.load == load]
        if alike:
            self.files.add(replace(alike[0], key=key, digest=digest, seconds=0.0))
            return
        size, around = self._sized(trial, key)
        self.files.add(PilotDone(key, digest, size, time.monotonic() - start, around, load))
        self.bar.close()
        self.session.output.say(f"  pilot of {key}: {pilot_text(trial, size)}")

    def _sized(self, trial: Trial, key: str) -> tuple[Size, float]:
        """How fast it is and how many processes that takes; and the seconds beside the last pilot's load."""
        cores = self.cores // len(trial.loads)
        pilot = first_pilot(trial)
        result = self._send(pilot, f"{key}.pilot", key)
        size = _size_of(pilot, result)
        for number in range(MAX_PILOTS if may_split(trial) else 0):
            pilot = timed(trial, size, PILOT_SECONDS)
            result = self._send(pilot, f"{key}.pilot{number}", key)
            size = _size_of(pilot, result)
            busy = [result.is_saturated(index) for index in range(len(pilot.loads))]
            processes = next_processes(pilot, result.sending, busy, cores)
            if processes is None:
                break
            size = replace(size, processes=processes)
        return size, result.seconds - result.sending

    def _send(self, trial: Trial, seed: str, what: str) -> TrialResult:
        """Send the trial's loads, and try once more when they fail: a router that lost a worker recovers in seconds. A
        stack that does not answer then is not measured."""
        try:
            return self._send_once(trial, seed, what)
        except TargetError as error:
            self.bar.close()
            self.session.output.say(f"{what}: {error}; trying again in {PAUSE:.0f} s")
        time.sleep(PAUSE)
        self.stacks.check()
        return self._send_once(trial, f"{seed} again", what)

    def _send_once(self, trial: Trial, seed: str, what: str) -> TrialResult:
        key = self.stacks.key()
        return send(load_seeds(trial, seed, self.files.nonce), self.loads, key, self.bar.running(what))


def _size_of(trial: Trial, result: TrialResult) -> Size:
    rates = tuple(result.figures[load.name].requests for load in trial.loads)
    return Size(rates, tuple(load.processes for load in trial.loads))
