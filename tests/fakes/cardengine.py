"""A Docker Engine as a machine with a card has it, on a machine without one: a socket in front of the real Engine.

Requests for devices are taken out of what is created, since no card answers them here, and health checks are made
impatient, so that a walk takes seconds. Everything else passes as it is.
"""

from __future__ import annotations

import contextlib
import json
import re
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

REAL = "/var/run/docker.sock"
IMPATIENT = 0.4  # seconds between two looks at a container's health
_CREATE = re.compile(rb"^POST (?:/v[\d.]+)?/containers/create[? ]")


@contextlib.contextmanager
def card_engine(path: Path, interval: float = IMPATIENT) -> Iterator[str]:
    """Listens at `path` as long as the context lasts; yields what DOCKER_HOST is to be. `interval` is that of health
    checks, in seconds: each of them is a process in the container."""
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.listen(64)
    threading.Thread(target=_accept, args=(server, interval), daemon=True).start()
    try:
        yield f"unix://{path}"
    finally:
        server.close()
        path.unlink()


def _accept(server: socket.socket, interval: float) -> None:
    with contextlib.suppress(OSError):
        while True:
            client, _ = server.accept()
            threading.Thread(target=_serve, args=(client, interval), daemon=True).start()


def _serve(client: socket.socket, interval: float) -> None:
    """One request a connection; what follows it (a hijacked stream) and what is answered is passed on untouched."""
    with client, socket.socket(socket.AF_UNIX) as engine, contextlib.suppress(OSError):
        engine.connect(REAL)
        head, rest = _head(client)
        if _CREATE.match(head):
            head, rest = _rewritten(head, rest + _exactly(client, _length(head) - len(rest)), interval)
        engine.sendall(_alone(head) + rest)
        threading.Thread(target=_pump, args=(client, engine), daemon=True).start()
        _pump(engine, client)


def _head(client: socket.socket) -> tuple[bytes, bytes]:
    seen = b""
    while b"\r\n\r\n" not in seen:
        seen += _some(client)
    head, _, rest = seen.partition(b"\r\n\r\n")
    return head + b"\r\n\r\n", rest


def _some(client: socket.socket) -> bytes:
    part = client.recv(65536)
    if not part:
        raise OSError("closed")
    return part


def _exactly(client: socket.socket, count: int) -> bytes:
    seen = b""
    while len(seen) < count:
        seen += _some(client)
    return seen


def _length(head: bytes) -> int:
    found = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
    assert found, "a container is created without Content-Length"
    return int(found[1])


def _alone(head: bytes) -> bytes:
    """The request with `Connection: close`, unless it asks for a stream in both directions."""
    if re.search(rb"(?i)\r\nupgrade:", head):
        return head
    head = re.sub(rb"(?i)\r\nconnection:[^\r]*", b"", head)
    return head.removesuffix(b"\r\n") + b"Connection: close\r\n\r\n"


def _rewritten(head: bytes, body: bytes, interval: float) -> tuple[bytes, bytes]:
    asked: dict[str, Any] = json.loads(body)
    (asked.get("HostConfig") or {}).pop("DeviceRequests", None)
    if asked.get("Healthcheck"):
        between = round(interval * 1e9)
        asked["Healthcheck"] |= {"Interval": between, "StartInterval": between}
    made = json.dumps(asked).encode()
    return re.sub(rb"(?i)(\r\ncontent-length: *)\d+", rb"\g<1>%d" % len(made), head), made


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while part := source.recv(65536):
            sink.sendall(part)
        sink.shutdown(socket.SHUT_WR)
