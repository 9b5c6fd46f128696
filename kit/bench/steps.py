"""The steps of `bench`: a stack stands, a first look says how much to send, loads are sent, records are kept."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kit.bench import journal as lines
from kit.bench.design import (
    AS_GIVEN,
    Protocol,
    StackVariant,
    Step,
    Trial,
    schedule,
)
from kit.bench.estimate import (
    left,
    observations,
    turns,
)
from kit.bench.journal import MemoryRead, PilotDone, RunDone
from kit.bench.load_containers import Loaders
from kit.bench.progress import Bar, look_words, run_line
from kit.bench.results_dir import (
    ResultsDir,
    digest_of,
    load_digest,
    load_seeds,
)
from kit.bench.run_trial import Outcome, send
from kit.bench.sizing import LOOK_SECONDS, Size, first_look, may_split, once_more, second_look, sized
from kit.bench.stacks import StackRunner
from kit.errors import TargetError
from kit.gpu import Gpu, GpuError
from kit.project.load import LIVE, choose_gpu
from kit.status.collect import collect

if TYPE_CHECKING:
    from kit.bench.session import Session

LOOKS = 4  # at most, after the first
PAUSE = 10.0  # seconds between a load that failed and the next try


class StepRunner:
    """One step after another."""

    def __init__(
        self,
        session: Session,
        protocols: Sequence[Protocol],
        files: ResultsDir,
        ground: StackRunner,
        loads: Loaders,
        cores: int,
    ) -> None:
        self.session, self.protocols, self.files = session, protocols, files
        self.ground, self.loads, self.cores = ground, loads, cores
        self.bar = Bar(session.output.progress(), sum(1 for p in protocols for _ in schedule(p)))

    def look_ahead(self) -> None:
        """The stack as given, and a first look at all that is measured on it: what the time is told from."""
        todo = [
            (p, s.trial) for p in self.protocols for s in schedule(p) if s.key not in lines.runs(self.files.records)
        ]
        mine = {f"{p.name}.{t.key}": (p, t) for p, t in todo if t.stand.key == AS_GIVEN and not t.stand.anew}
        for protocol, trial in mine.values():
            self._stand(trial.stand)
            self._look(protocol, trial)

    def do(self, protocol: Protocol, step: Step) -> None:
        """A step, unless it is done."""
        if step.key in lines.runs(self.files.records):
            self.bar.passed()
            return
        ran = self._start(protocol, step) if step.trial.stand.anew else self._measure(protocol, step)
        self.files.add(ran)
        self.bar.done(run_line(protocol, step, ran), self.left())

    def left(self) -> float:
        """Seconds until everything is done, as far as can be told."""
        return left(self.protocols, observations(self.files.records, self.cores), self.ground.now)

    def read_memory(self) -> None:
        """What the workers of the stack as given hold after their load."""
        now = self.ground.now
        if now is None or now.key != AS_GIVEN or any(isinstance(r, MemoryRead) for r in self.files.records):
            return
        found = collect(self.session.client, self.session.project.manifest.name, lambda: _card_now(self.session))
        self.files.add(
            MemoryRead({one.service: one.held for one in found.services if one.held and one.role == "worker"})
        )

    def _stand(self, stand: StackVariant) -> None:
        if self.ground.now is not None and self.ground.now.key != stand.key:
            self.read_memory()
        self.bar.close()
        stood = self.ground.stand(stand)
        if stood is not None and (self.ground.changed or not self.session.running):
            self.files.add(replace(stood, turns=turns(stand, self.cores)))
        self.files.keep_stack(stand, self.ground.place)

    def _start(self, protocol: Protocol, step: Step) -> RunDone:
        self.read_memory()
        self.bar.close()
        seconds, phases = self.ground.start(step.trial.stand)
        self.files.keep_stack(step.trial.stand, self.ground.place)
        return RunDone(step.key, digest_of(protocol, step.trial), seconds, started=seconds, phases=phases)

    def _measure(self, protocol: Protocol, step: Step) -> RunDone:
        self._stand(step.trial.stand)
        self._look(protocol, step.trial)
        trial = sized(step.trial, self._sizes(protocol), protocol.trials)
        outcome = self._send(trial, step.key, step.key)
        raw, commands = self.files.keep_raw(step, outcome)
        digest = digest_of(protocol, step.trial)
        return RunDone(
            step.key, digest, outcome.seconds, outcome.sending, outcome.overlap, outcome.figures,
            raw=raw, commands=commands, cpu=dict(outcome.cpu),
        )  # fmt: skip

    def _sizes(self, protocol: Protocol) -> dict[str, Size]:
        start = f"{protocol.name}."
        return {k.removeprefix(start): s for k, s in lines.sizes(self.files.records).items() if k.startswith(start)}

    def _look(self, protocol: Protocol, trial: Trial) -> None:
        key = f"{protocol.name}.{trial.key}"
        if not trial.seconds or key in lines.sizes(self.files.records):
            return
        began, load, digest = time.monotonic(), load_digest(trial), digest_of(protocol, trial)
        if (like := lines.alike(self.files.records, load)) is not None:
            self.files.add(replace(like, key=key, digest=digest, seconds=0.0))
            return
        size, around = self._sized(trial, key)
        self.files.add(PilotDone(key, digest, size, time.monotonic() - began, around, load))
        self.bar.close()
        self.session.output.say(f"  looked at {key}: {look_words(trial, size)}")

    def _sized(self, trial: Trial, key: str) -> tuple[Size, float]:
        """How fast it is and how many processes it takes to be that fast; and the seconds beside the last load."""
        cores = self.cores // len(trial.loads)
        outcome = self._send(first_look(trial), f"{key}.look", key)
        size = _size_of(trial, outcome)
        for again in range(LOOKS if may_split(trial) else 0):
            looked = second_look(trial, size, LOOK_SECONDS)
            outcome = self._send(looked, f"{key}.look{again}", key)
            size = _size_of(looked, outcome)
            busy = [outcome.is_saturated(i) for i in range(len(looked.loads))]
            processes = once_more(looked, outcome.sending, busy, cores)
            if processes is None:
                break
            size = replace(size, processes=processes)
        return size, outcome.seconds - outcome.sending

    def _send(self, trial: Trial, seed: str, what: str) -> Outcome:
        """Sends the trial's loads; once more when they fail, since a router that saw a worker stumble comes round in
        seconds. A stack that does not answer then is not measured."""
        try:
            return self._sent(trial, seed, what)
        except TargetError as error:
            self.bar.close()
            self.session.output.say(f"{what}: {error}; once more in {PAUSE:.0f} s")
        time.sleep(PAUSE)
        self.ground.check()
        return self._sent(trial, f"{seed} again", what)

    def _sent(self, trial: Trial, seed: str, what: str) -> Outcome:
        key = self.ground.key()
        return send(load_seeds(trial, seed, self.files.nonce), self.loads, key, self.bar.running(what))


def _size_of(trial: Trial, outcome: Outcome) -> Size:
    figures = outcome.figures
    rates = tuple(figures[load.name].requests for load in trial.loads)
    return Size(rates, tuple(load.processes for load in trial.loads))


def _card_now(session: Session) -> Gpu | None:
    try:
        return choose_gpu(session.project, LIVE)
    except GpuError:
        return None
