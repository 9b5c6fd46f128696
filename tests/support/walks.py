"""Walks with the real command line: projects of pretend workers on a pretend card, each in a folder of its own."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from docker.errors import APIError

from kit.compose import create_request
from kit.compose import exec as inside
from kit.compose import up as compose
from kit.compose.observe import containers
from kit.compose.observed import ContainerState
from tests.fakes.cardengine import STEADY, card_engine
from tests.fakes.pretend.ledger import Card, as_gpu_json, create, read
from tests.fakes.pretend_gpu import wait_for
from tests.support.modelfiles import safetensors
from tests.support.paths import ROOT

if TYPE_CHECKING:
    from docker import DockerClient

LONG = 120.0  # seconds; a walk takes a fraction of it on an idle machine
SMALL, TINY = "Qwen/Qwen2.5-0.5B-Instruct", "HuggingFaceTB/SmolLM2-360M-Instruct"


@dataclass(frozen=True)
class Said:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    def good(self) -> Said:
        assert self.code == 0, f"exit {self.code}\n{self.out}\n{self.err}"
        return self

    def refused(self, code: int) -> str:
        """Its words, when it failed with `code` and without a traceback."""
        assert self.code == code, f"exit {self.code}\n{self.out}\n{self.err}"
        assert "Traceback" not in self.err or "|" in self.err
        return self.err


@dataclass
class Walk:
    """A project's folder, and the commands that are typed there."""

    name: str
    folder: Path
    host: str
    client: DockerClient
    port: int
    environ: dict[str, str] = field(default_factory=dict)
    seconds: float = LONG
    router_image: str = "monogpu/smg:1.13.0"
    begun: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def file(self) -> Path:
        return self.folder / compose.FILE

    @property
    def card_file(self) -> Path:
        return self.folder / "card" / "card.json"

    def write(self, *models: str, more: str = "", router: str = "") -> None:
        """The manifest; facts of the examples' models lie beside it."""
        head = f"name: {self.name}\nrouter: {{image: {self.router_image}, port: {self.port}{router}}}\n{more}"
        (self.folder / "monogpu.yaml").write_text(head + "models:\n" + "".join(models))

    def kit(self, *words: str) -> Said:
        done = subprocess.run(self._argv(words), **self._place(), capture_output=True, text=True, timeout=self.seconds)
        return Said(done.returncode, done.stdout, done.stderr)

    def kit_limited(self, *words: str) -> Said:
        """The same where no file can grow beyond 1 KiB, as on a disk that fills up while it is written."""
        argv = ["bash", "-c", 'ulimit -f 1; exec "$@"', "bash", *self._argv(words)]
        done = subprocess.run(argv, **self._place(), capture_output=True, text=True, timeout=self.seconds)
        return Said(done.returncode, done.stdout, done.stderr)

    def begin(self, *words: str) -> subprocess.Popen[str]:
        """The same, while the test goes on."""
        pipe = subprocess.PIPE
        # A shell lets what it starts in the background ignore Ctrl-C, and so would all that this starts.
        argv = ["env", "--default-signal=INT", *self._argv(words)]
        self.begun.append(subprocess.Popen(argv, **self._place(), stdout=pipe, stderr=pipe, text=True))
        return self.begun[-1]

    def up(self, *words: str) -> Said:
        return self.kit("up", "--gpu", "gpu.json", *words)

    def compose(self, *words: str) -> str:
        """`docker compose` itself."""
        argv = ["docker", "compose", *words]
        done = subprocess.run(argv, **self._place(), capture_output=True, text=True, timeout=self.seconds)
        assert done.returncode == 0, done.stderr
        printed: str = done.stdout
        return printed

    def _argv(self, words: tuple[str, ...]) -> list[str]:
        return [sys.executable, "-m", "kit.cli", *words]

    def _place(self) -> dict[str, Any]:
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        here = {"DOCKER_HOST": self.host, "PYTHONPATH": str(ROOT), "NO_COLOR": "1", "COLUMNS": "200"}
        return {"cwd": self.folder, "env": kept | here | self.environ}

    def containers(self) -> dict[str, ContainerState]:
        return {each.service: each for each in containers(self.client, self.name)}

    def ids(self) -> dict[str, str]:
        return {name: each.id for name, each in self.containers().items()}

    def running(self, service: str) -> bool:
        return service in (found := self.containers()) and found[service].status == "running"

    def vanish(self) -> None:
        """Nothing of the project is left, and nobody is given time to end."""
        for process in self.begun:
            if process.poll() is None:
                process.kill()
                process.communicate()
        for container in self.client.api.containers(
            all=True, filters={"label": f"{create_request.PROJECT}={self.name}"}
        ):
            with contextlib.suppress(APIError):  # it went meanwhile
                self.client.api.remove_container(container["Id"], force=True)
        compose.down(self.name, self.client, volumes=True)

    def fault(self, service: str, fault: str) -> None:
        """Makes a running worker do wrong; "" heals it."""
        ask = (
            "import http.client as h, sys; c = h.HTTPConnection('127.0.0.1', 8000); "
            "c.request('POST', '/pretend/fault', sys.argv[1], {'Content-Type': 'application/json'}); "
            "raise SystemExit(c.getresponse().status != 200)"
        )
        container = inside.container_of(self.client, self.name, service)
        inside.run(self.client, container, ask, json.dumps({"fault": fault}))

    def hold(self, phase: str) -> None:
        """Workers stop before this phase of their start, until `release`."""
        (self.folder / "card" / "hold").mkdir(exist_ok=True)
        (self.folder / "card" / "hold" / phase).touch()

    def release(self, phase: str) -> None:
        (self.folder / "card" / "hold" / phase).unlink()


def model(name: str, source: str = TINY, *more: str, env: str = "", image: str = "monogpu/pretend:1") -> str:
    """A model of the manifest, served by a pretend worker that shares the card."""
    settings = f'PRETEND_LEDGER: /card/card.json, PRETEND_SPEED: "0.02", PRETEND_HOLD: /card/hold{env and ", "}{env}'
    lines = [f"source: {source}", f"image: {image}", f"env: {{{settings}}}", 'volumes: ["./card:/card"]', *more]
    if not any(line.startswith("context:") for line in more):
        lines += ["context: 1k"]
    return f"  - name: {name}\n" + "".join(f"    {line}\n" for line in [*lines, "requests: 4"])


def adapter(folder: Path, rank: int = 8) -> None:
    """A LoRA adapter for SMALL, as PEFT writes one: it changes the first layer's queries."""
    folder.mkdir(parents=True)
    config = {"peft_type": "LORA", "r": rank, "target_modules": ["q_proj"], "base_model_name_or_path": SMALL}
    (folder / "adapter_config.json").write_text(json.dumps(config))
    place = "base_model.model.model.layers.0.self_attn.q_proj"
    shapes = {f"{place}.lora_A.weight": ("BF16", (rank, 896)), f"{place}.lora_B.weight": ("BF16", (896, rank))}
    (folder / "adapter_model.safetensors").write_bytes(safetensors(shapes))


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@contextlib.contextmanager
def walk(folder: Path, client: DockerClient, total: int | None = None, steady: float = STEADY) -> Iterator[Walk]:
    """A project of its own; whatever it left behind is gone afterwards. Serving containers are looked at every `steady`
    seconds."""
    name = f"mgk-w-{uuid4().hex[:8]}"
    place = folder / name
    place.mkdir(parents=True)
    shutil.copy(ROOT / "compose" / "trio-16gb" / "facts.json", place)
    # A socket's path is short: the folder of a test may be too deep.
    with card_engine(Path("/tmp") / f"{name}.sock", steady=steady) as host:
        made = Walk(name, place, host, client, free_port())
        create(made.card_file, Card(total_bytes=total) if total else Card())
        with driver(made.card_file, place / "gpu.json"):
            try:
                yield made
            finally:
                made.vanish()


@contextlib.contextmanager
def driver(card: Path, to: Path) -> Iterator[None]:
    """Keeps `to` what the driver would tell of the card, until the context ends."""
    ended = threading.Event()

    def tell() -> None:
        draft = to.with_suffix(".draft")
        draft.write_text(json.dumps(as_gpu_json(read(card))))
        draft.replace(to)

    def keep_telling() -> None:
        while not ended.wait(0.1):
            tell()

    tell()
    thread = threading.Thread(target=keep_telling)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def interrupt(process: subprocess.Popen[str]) -> Said:
    """Ctrl-C, and what it said until it ended."""
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=LONG)
    return Said(process.returncode, out, err)


def ended(process: subprocess.Popen[str]) -> Said:
    out, err = process.communicate(timeout=LONG)
    return Said(process.returncode, out, err)


def soon(what: Callable[[], object]) -> None:
    """Returns when it is so."""
    wait_for(what, LONG)
