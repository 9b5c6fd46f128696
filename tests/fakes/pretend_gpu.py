"""Pretend workers as processes of this machine, on a pretend card in a temporary folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from tests.fakes.pretend.ledger import Allocation, Card, create, read
from tests.support.paths import FAKES

SOON = 10.0
SMALL = "HuggingFaceTB/SmolLM2-135M-Instruct"
CONTEXT = 1024


def wait_for(what: Callable[[], object], seconds: float = SOON) -> None:
    """Returns as soon as `what()` is true; AssertionError when it never is."""
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, f"waited {seconds:g} s in vain"
        time.sleep(0.01 if seconds <= SOON else 0.1)


@dataclass
class Worker:
    """One `python3 -m pretend` and its log."""

    process: subprocess.Popen[bytes]
    log: Path
    http: httpx.Client = field(default_factory=lambda: httpx.Client(timeout=SOON))

    @property
    def text(self) -> str:
        return self.log.read_text(encoding="utf-8")

    def serving(self) -> bool:
        assert self.process.poll() is None, f"exit {self.process.returncode}\n{self.text}"
        return "Application startup complete." in self.text

    def ready(self) -> Worker:
        wait_for(self.serving)
        found = re.search(r"Starting vLLM server on http://[^:]+:(\d+)", self.text)
        assert found
        self.http.base_url = httpx.URL(f"http://127.0.0.1:{found[1]}")
        return self

    def exit_code(self) -> int:
        return self.process.wait(SOON)


@dataclass
class Rig:
    """A card in `folder`, and the workers started on it."""

    folder: Path
    workers: list[Worker] = field(default_factory=list)

    @property
    def card_file(self) -> Path:
        return self.folder / "gpu" / "card.json"

    def card(self) -> Card:
        return read(self.card_file)

    def put(self, card: Card) -> None:
        create(self.card_file, card)

    def held_by(self, worker: Worker) -> Allocation:
        """What the card says of a worker; nothing, when it holds nothing."""
        found = [one for one in self.card().allocations.values() if one.pid == worker.process.pid]
        return found[0] if found else Allocation(worker.process.pid, "")

    def start(self, *flags: str, model: str = SMALL, env: dict[str, str] | None = None) -> Worker:
        log = self.folder / f"worker-{len(self.workers)}.log"
        settings = {"PRETEND_LEDGER": str(self.card_file), "PRETEND_SPEED": "0.005", **(env or {})}
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PRETEND_", "VLLM_", "HF_"))}
        words = [sys.executable, "-S", "-m", "pretend", model, "--host", "127.0.0.1", "--port", "0", *flags]
        with log.open("wb") as out:
            process = subprocess.Popen(
                words,
                stdout=out,
                stderr=subprocess.STDOUT,
                env={**kept, "PYTHONPATH": str(FAKES), "HOME": str(self.folder), **settings},
            )
        self.workers.append(Worker(process, log))
        return self.workers[-1]

    def gate(self, name: str, *phases: str) -> Gate:
        folder = self.folder / name
        folder.mkdir()
        gate = Gate(folder)
        for phase in phases:
            gate.shut(phase)
        return gate

    def stop(self) -> None:
        for worker in self.workers:
            worker.process.kill()
            worker.process.wait()
            worker.http.close()


@dataclass(frozen=True)
class Gate:
    """Holds a worker before a phase of its start (PRETEND_HOLD)."""

    folder: Path

    @property
    def env(self) -> dict[str, str]:
        return {"PRETEND_HOLD": str(self.folder)}

    def shut(self, phase: str) -> None:
        (self.folder / phase).touch()

    def open(self, phase: str) -> None:
        (self.folder / phase).unlink()


def pinned(count: int, *more: str, share: str = "0.2") -> Sequence[str]:
    """Flags of a worker whose cache is given in bytes."""
    return (
        "--max-model-len",
        str(CONTEXT),
        "--kv-cache-memory-bytes",
        str(count),
        "--gpu-memory-utilization",
        share,
        *more,
    )
