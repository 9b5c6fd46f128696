"""A started worker: the names it answers to, its slots, its counters, and what is wrong with it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from .errors import StartError
from .faults import OTHER_MODEL, Fault
from .log import Log, traceback_text
from .models import Shape
from .start import Cache, Start, die_by_kill
from .values import Lora
from .words import Job

POLL = 0.02


class EngineDeadError(Exception):
    """The engine process is gone; every request ends with this."""


@dataclass
class Counters:
    """What /metrics tells; changed under the engine's lock."""

    running: int = 0
    waiting: int = 0
    held_tokens: int = 0
    prompt_tokens: int = 0
    generated_tokens: int = 0
    finished: dict[str, int] = field(default_factory=lambda: {"stop": 0, "length": 0, "abort": 0})
    first_token_seconds: float = 0.0
    request_seconds: float = 0.0
    running_adapters: dict[str, int] = field(default_factory=dict)

    @property
    def done(self) -> int:
        return sum(self.finished.values())


class Engine:
    """Shared by all request threads."""

    def __init__(self, start: Start, shape: Shape, cache: Cache, log: Log) -> None:
        self.args, self.settings, self.config, self.bill = start.args, start.settings, start.config, start.bill
        self.shape, self.cache, self.log, self.fault = shape, cache, log, start.fault
        self.served = (OTHER_MODEL,) if start.fault.name == "wrong-model-name" else start.args.served
        self.adapters: dict[str, Lora] = {}
        self.counters = Counters()
        self.sleep_level = 0
        self.dead = False
        self.stopping = threading.Event()
        self.on_death: Callable[[], None] = self.stopping.set
        self._slots = threading.Semaphore(start.config.max_num_seqs)
        self._lock = threading.Lock()
        self._since_fault = 0

    def set_fault(self, fault: Fault) -> None:
        with self._lock:
            self.fault, self._since_fault = fault, 0

    def knows(self, model: str | None) -> bool:
        return not model or model in self.served or model in self.adapters

    def answer_name(self, model: str | None) -> str:
        """The name in the response: an adapter's own, else the first served one, whichever alias was asked for."""
        return model if model in self.adapters and model else self.served[0]

    def run(self, job: Job) -> Iterator[tuple[str, str | None]]:
        """Yields (text, finish_reason); the reason comes with the last token. Raises EngineDeadError."""
        began = time.monotonic()
        reason = "abort"
        with self._lock:
            self.counters.waiting += 1
        self._enter(job)
        try:
            for text, reason_ in self._tokens(job, began):
                reason = reason_ or reason
                yield text, reason_
        finally:
            self._leave(job, reason, began)

    def _enter(self, job: Job) -> None:
        while not self._ready() or not self._slots.acquire(timeout=POLL):
            if self.dead or self.stopping.is_set():
                with self._lock:
                    self.counters.waiting -= 1
                raise EngineDeadError
        with self._lock:
            counters = self.counters
            counters.waiting -= 1
            counters.running += 1
            counters.held_tokens += job.prompt_tokens
            counters.prompt_tokens += job.prompt_tokens
            if job.name in self.adapters:
                counters.running_adapters[job.name] = counters.running_adapters.get(job.name, 0) + 1

    def _ready(self) -> bool:
        """A sleeping or hanging engine takes requests and leaves them waiting, as vLLM does."""
        ready = self.sleep_level == 0 and self.fault.name != "hang"
        if not ready:
            time.sleep(POLL)
        return ready

    def _tokens(self, job: Job, began: float) -> Iterator[tuple[str, str | None]]:
        pause = 1 / self.settings.tokens_per_second if self.settings.tokens_per_second > 0 else 0
        for index, text in enumerate(job.tokens):
            time.sleep(pause)
            if self.dead:
                raise EngineDeadError
            if self.stopping.is_set():
                yield "", "abort"
                return
            with self._lock:
                self.counters.generated_tokens += 1
                self.counters.held_tokens += 1
                if index == 0:
                    self.counters.first_token_seconds += time.monotonic() - began
            yield text, job.finish if index == len(job.tokens) - 1 else None

    def _leave(self, job: Job, reason: str, began: float) -> None:
        self._slots.release()
        with self._lock:
            counters = self.counters
            counters.running -= 1
            counters.finished[reason] += 1
            counters.request_seconds += time.monotonic() - began
            counters.held_tokens = 0 if not counters.running else max(0, counters.held_tokens - job.total_tokens)
            if job.name in counters.running_adapters:
                counters.running_adapters[job.name] -= 1
            self._since_fault += 1
            fault, count = self.fault, self._since_fault
        if fault.name == "kill-after" and count >= fault.value:
            threading.Timer(self.settings.phase_seconds, die_by_kill).start()
        if fault.name == "die-after" and count >= fault.value:
            self.die()

    def die(self, text: str = "CUDA error: an illegal memory access was encountered") -> None:
        """The engine process fails: requests get errors, and the API server ends by itself a moment later, with exit
        code 0 (vllm-project/vllm#48966)."""
        if self.dead:
            return
        self.dead = True
        error = StartError("torch.AcceleratorError", text, "v1/worker/gpu_worker.py:990:execute_model")
        self.log.error("core.py:1332", "EngineCore encountered a fatal error.\n" + traceback_text(error))
        threading.Timer(self.settings.phase_seconds, self.on_death).start()
