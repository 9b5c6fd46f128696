"""The load program, run here with a package `vllm` that answers without a model.

`--model` says what it does: "good" leaves a result, "slow" does so in parts, "busy" uses its core, "mute" leaves
nothing, and others end as `vllm bench serve` may end.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kit.bench import load_server
from kit.bench.load_containers import program
from tests.fakes.pretend_gpu import wait_for

SECONDS = 60.0
MAIN = """
import os, sys
from pathlib import Path
Path(os.environ["IMPORTED"]).open("a").write(f"{os.getpid()}\\n")

def main():
    import vllm.benchmarks.serve as serve
    assert sys.argv[:3] == ["vllm", "bench", "serve"], sys.argv
    if sys.argv[3:] == ["--help"]:
        print("usage: ...")
        sys.exit(0)
    serve.serve(dict(zip(sys.argv[3::2], sys.argv[4::2])))
"""
SERVE = """
import json, os, sys, time
from pathlib import Path
Path(os.environ["IMPORTED"]).open("a").write(f"{os.getpid()}\\n")

def serve(told):
    began = time.monotonic()
    kind = told["--model"]
    print("sending", flush=True)
    if kind == "refuses":
        print("error: unrecognized arguments: --x", file=sys.stderr)
        sys.exit(2)
    if kind == "says why":
        sys.exit("no model is there")
    if kind == "raises":
        raise ValueError("Initial test run failed")
    if kind == "dies":
        os.abort()
    if kind == "mute":
        return
    for n in range(4) if kind == "slow" else ():
        print(f"\\r {n * 25}%| {n}/4 [00:0{n}<00:01]", end="", flush=True)
        time.sleep(0.4)
    end = time.process_time() + 1.2
    while kind == "busy" and time.process_time() < end:
        pass
    key = os.environ.get("OPENAI_API_KEY", "")
    data = {"completed": 3, "duration": 0.1, "who": told["--seed"], "key": key, "text": "ü\\u2028\\n",
            "pid": os.getpid(), "from": began, "to": time.monotonic()}
    Path(told["--result-dir"], told["--result-filename"]).write_text(json.dumps(data, ensure_ascii=False))
"""


@dataclass(frozen=True)
class Here:
    """A load program that listens."""

    folder: Path
    process: subprocess.Popen[str]

    @property
    def socket(self) -> str:
        return str(self.folder / "s")

    @property
    def imported(self) -> list[int]:
        """The processes that imported a part of vllm, one for each part."""
        return [int(line) for line in (self.folder / "imported").read_text().split()]

    def argv(self, kind: str, seed: int = 0) -> tuple[str, ...]:
        return (
            "bench", "serve", "--model", kind, "--seed", str(seed), "--result-dir", str(self.folder),
            "--result-filename", f"{seed}.json",
        )  # fmt: skip

    def ask(self, kind: str, seed: int = 0, env: dict[str, str] | None = None) -> socket.socket:
        """Sends a request; its answer is still to come."""
        asked = {"argv": self.argv(kind, seed), "env": env or {}, "result": str(self.folder / f"{seed}.json")}
        caller = socket.socket(socket.AF_UNIX)
        caller.settimeout(SECONDS)
        caller.connect(self.socket)
        caller.sendall(json.dumps(asked).encode() + b"\n")
        return caller

    def run(self, kind: str, seed: int = 0, env: dict[str, str] | None = None) -> tuple[str, dict[str, Any]]:
        """(what was printed, the last line)."""
        return answer(self.ask(kind, seed, env))


def answer(caller: socket.socket) -> tuple[str, dict[str, Any]]:
    """Everything until the end."""
    with caller, caller.makefile("r", encoding="utf-8", newline="") as file:
        words, _, last = file.read().rstrip("\n").rpartition("\n")
    return words, json.loads(last)


def package(folder: Path) -> None:
    for name in ("vllm", "vllm/benchmarks", "vllm/entrypoints", "vllm/entrypoints/cli"):
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").touch()
    (folder / "vllm/entrypoints/cli/main.py").write_text(MAIN)
    (folder / "vllm/benchmarks/serve.py").write_text(SERVE)
    (folder / "transformers.py").write_text("AutoTokenizer = PreTrainedTokenizerFast = object\n")


@contextmanager
def listening() -> Iterator[Here]:
    """The program, ready, until the context ends."""
    with tempfile.TemporaryDirectory(prefix="mgk-load-") as name:  # a socket's path is short
        folder = Path(name)
        package(folder)
        text = program()
        assert text.count(load_server.SOCKET) == 1
        environ = {"PATH": os.environ["PATH"], "PYTHONPATH": name, "IMPORTED": str(folder / "imported")}
        argv = [sys.executable, "-u", "-c", text.replace(load_server.SOCKET, str(folder / "s"))]
        process = subprocess.Popen(argv, env=environ, cwd=name, stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout and process.stdout.readline() == "ready\n"
            yield Here(folder, process)
        finally:
            process.kill()
            process.wait()


def children(of: int) -> list[int]:
    """The processes that `of` began and that are there."""
    return [int(pid) for pid in Path(f"/proc/{of}/task/{of}/children").read_text().split()]


def settled(here: Here, most: int) -> None:
    """Returns when no more than so many children of the program are there."""
    wait_for(lambda: len(children(here.process.pid)) <= most, SECONDS)
