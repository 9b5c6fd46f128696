"""The pretend MPS daemon, and pretend workers as its clients: processes of this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from kit.diagnostics.explain import explain
from tests.fakes.pretend.ledger import Card
from tests.fakes.pretend.mps import ABSENT, RUNNING
from tests.fakes.pretend_gpu import SOON, Rig, wait_for
from tests.support.paths import FAKES

MODEL = ("--max-model-len", "1024", "--kv-cache-memory-bytes", str(2**27), "--gpu-memory-utilization", "0.2")


@dataclass
class Mps:
    """A daemon's folder, and what stands for /dev/shm."""

    folder: Path
    shm: Path
    log: Path
    process: subprocess.Popen[bytes] | None = None

    @property
    def env(self) -> dict[str, str]:
        return {"CUDA_MPS_PIPE_DIRECTORY": str(self.folder), "PRETEND_SHM": str(self.shm)}

    def program(self, *words: str) -> list[str]:
        return [sys.executable, "-S", "-m", "pretend.mps", *words]

    def start(self) -> None:
        with self.log.open("wb") as out:
            env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(FAKES), **self.env}
            self.process = subprocess.Popen(self.program("-f"), env=env, stderr=out)
        wait_for(lambda: self.ended or self.ask("get_default_active_thread_percentage") == (0, "100.0"))

    @property
    def ended(self) -> bool:
        return self.process is not None and self.process.poll() is not None

    def kill(self) -> None:
        assert self.process
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(SOON)

    def ask(self, command: str) -> tuple[int, str]:
        env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(FAKES), **self.env}
        done = subprocess.run(
            self.program(), input=f"{command}\n", env=env, capture_output=True, text=True, timeout=SOON
        )
        return done.returncode, done.stdout.strip()

    def clients(self) -> list[str]:
        return [line.split()[-1] for line in self.ask("ps")[1].splitlines()]


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    made = Rig(tmp_path)
    made.put(Card())
    yield made
    made.stop()


@pytest.fixture
def mps(tmp_path: Path) -> Iterator[Mps]:
    made = Mps(tmp_path / "pipes", tmp_path / "shm", tmp_path / "mps.log")
    made.folder.mkdir()
    made.shm.mkdir()
    yield made
    if made.process and not made.ended:
        made.kill()


def test_workers_are_the_daemons_clients(rig: Rig, mps: Mps) -> None:
    mps.start()
    assert mps.ask("get_server_list") == (0, "")
    for name in ("chat", "code"):
        rig.start(*MODEL, "--served-model-name", name, env=mps.env).ready()
    assert mps.clients() == ["chat", "code"]
    assert mps.ask("get_server_list") == (0, "17")
    assert "Starting new server 17" in mps.log.read_text()


def test_without_a_daemon_a_worker_runs_as_it_would_without_mps(rig: Rig, mps: Mps) -> None:
    rig.start(*MODEL, env=mps.env).ready()
    assert mps.ask("ps") == (1, ABSENT)


def test_a_worker_that_does_not_share_the_servers_memory_finds_the_card_busy(rig: Rig, mps: Mps) -> None:
    mps.start()
    worker = rig.start(*MODEL, env=mps.env | {"PRETEND_SHM": str(rig.folder)})
    assert worker.exit_code() == 1
    found = explain(worker.text)
    assert found and "/dev/shm" in found.cause


def test_a_worker_ends_when_its_daemon_does(rig: Rig, mps: Mps) -> None:
    mps.start()
    worker = rig.start(*MODEL, env=mps.env).ready()
    mps.kill()
    assert worker.exit_code() == 0
    found = explain(worker.text)
    assert found and "MPS server ended" in found.cause


def test_what_a_daemon_left_behind_keeps_the_next_one_away(mps: Mps) -> None:
    mps.start()
    mps.kill()
    mps.start()
    assert mps.ended
    assert RUNNING in mps.log.read_text()
    found = explain(mps.log.read_text())
    assert found and "same folder" in found.cause
