"""NVIDIA's MPS control daemon, pretended: `python3 -m pretend.mps -f` serves, and without -f the commands that come in
are asked of who serves.

As the real one: it listens in CUDA_MPS_PIPE_DIRECTORY; with its first client comes a server, which lays a region into
/dev/shm (PRETEND_SHM) that every client must see; the client lives as long as the daemon does. A client that finds
nobody listening runs without MPS. Stricter than the real one: what a daemon left in the folder keeps the next one away.

Commands: get_default_active_thread_percentage, get_server_list, and ps, with a client's name where the real one has its
program's.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from . import errors

SOCKET, PID = "control", "nvidia-cuda-mps-control.pid"
SERVER = 17  # its pid, as far as anybody is told
RUNNING = "An instance of this daemon is already running"
ABSENT = "Cannot find MPS control daemon process"


@dataclass
class Daemon:
    """Who listens in `folder`; `clients` are the connections, with their names."""

    folder: Path
    shm: Path
    clients: dict[socket.socket, str] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def serve(self) -> int:
        if (self.folder / PID).exists():
            print(RUNNING, file=sys.stderr)
            return 1
        (self.folder / PID).write_text(str(os.getpid()))
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(self.folder / SOCKET))
            server.listen(64)
            say(f"Starting control daemon using socket {self.folder / SOCKET}")
            while True:
                link, _ = server.accept()
                threading.Thread(target=self._attend, args=(link,), daemon=True).start()

    def _attend(self, link: socket.socket) -> None:
        with link, link.makefile() as lines:
            command, _, name = lines.readline().strip().partition(" ")
            if command == "client":
                self._keep(link, lines, name)
            else:
                link.sendall(f"{self._answer(command)}\n".encode())

    def _keep(self, link: socket.socket, lines: TextIO, name: str) -> None:
        region = f"mps.shm.{os.getuid()}.{SERVER}"
        with self.lock:
            if not self.clients:
                say(f"Starting new server {SERVER} for user {os.getuid()}")
                (self.shm / region).touch()
            self.clients[link] = name
        say(f"NEW CLIENT 0 from user {os.getuid()}: {name}")
        with contextlib.suppress(OSError):
            link.sendall(f"{region}\n".encode())
            lines.read()
        with self.lock:
            del self.clients[link]

    def _answer(self, command: str) -> str:
        with self.lock:
            names = sorted(self.clients.values())
        answers = {
            "get_default_active_thread_percentage": "100.0",
            "get_server_list": str(SERVER) if names else "",
            "ps": "\n".join(f"0 0 {SERVER} GPU-pretend {name}" for name in names),
        }
        return answers.get(command, f"Unknown command {command}")


def say(text: str) -> None:
    print(f"[{time.strftime('%Y-%m-%d %H:%M:%S')} Control {os.getpid():5}] {text}", file=sys.stderr, flush=True)


def ask(folder: Path, command: str) -> int:
    with socket.socket(socket.AF_UNIX) as link:
        try:
            link.connect(str(folder / SOCKET))
        except OSError:
            print(ABSENT)
            return 1
        link.sendall(f"{command}\n".encode())
        with link.makefile() as answer:
            print(answer.read(), end="")
    return 0


def join(folder: Path | None, shm: Path, name: str) -> socket.socket | None:
    """A CUDA program's first look for a daemon; None: it runs without MPS. Raises StartError where it finds one whose
    server's memory it does not share."""
    if folder is None:
        return None
    link = socket.socket(socket.AF_UNIX)
    try:
        link.connect(str(folder / SOCKET))
        link.sendall(f"client {name}\n".encode())
        region = link.makefile().readline().strip()
    except OSError:
        link.close()
        return None
    if not (shm / region).exists():
        raise errors.busy()
    return link


def watch(link: socket.socket | None, ended: Callable[[], None]) -> None:
    """Calls `ended` when the daemon goes away."""

    def wait() -> None:
        with contextlib.suppress(OSError):
            while link and link.recv(64):
                pass
        ended()

    if link:
        threading.Thread(target=wait, daemon=True).start()


def main(words: Sequence[str], env: Mapping[str, str]) -> int:
    folder = Path(env.get("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps"))
    if list(words) == ["-f"]:
        return Daemon(folder, Path(env.get("PRETEND_SHM", "/dev/shm"))).serve()
    return max([ask(folder, line.strip()) for line in sys.stdin if line.strip()], default=0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
