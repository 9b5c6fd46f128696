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
IMPATIENT = 0.4  # seconds between two looks at the health of a container that starts
STEADY = 10.0  # and of one that serves: each look costs a tenth of a second of a core, and many containers run at once
_CREATE = re.compile(rb"^POST (?:/v[\d.]+)?/containers/create[? ]")


@contextlib.contextmanager
def card_engine(path: Path, starting: float = IMPATIENT, steady: float = STEADY) -> Iterator[str]:
    """Listens at `path` as long as the context lasts; yields what DOCKER_HOST is to be. Health checks come every
    `starting` seconds until one succeeds, and every `steady` seconds from then on."""
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.listen(64)
    threading.Thread(target=_accept, args=(server, (starting, steady)), daemon=True).start()
    try:
        yield f"unix://{path}"
    finally:
        server.close()
        path.unlink()


def _accept(server: socket.socket, intervals: tuple[float, float]) -> None:
    with contextlib.suppress(OSError):
        while True:
            client, _ = server.accept()
            threading.Thread(target=_serve, args=(client, intervals), daemon=True).start()


def _serve(client: socket.socket, intervals: tuple[float, float]) -> None:
    """One request a connection; what follows it (a hijacked stream) and what is answered is passed on untouched."""
    with client, socket.socket(socket.AF_UNIX) as engine, contextlib.suppress(OSError):
        engine.connect(REAL)
        head, rest = _head(client)
        if _CREATE.match(head):
            head, rest = _rewritten(head, rest + _exactly(client, _length(head) - len(rest)), intervals)
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


def _rewritten(head: bytes, body: bytes, intervals: tuple[float, float]) -> tuple[bytes, bytes]:
    asked: dict[str, Any] = json.loads(body)
    (asked.get("HostConfig") or {}).pop("DeviceRequests", None)
    if asked.get("Healthcheck"):
        starting, steady = (round(seconds * 1e9) for seconds in intervals)
        asked["Healthcheck"] |= {"Interval": steady, "StartInterval": starting}
    made = json.dumps(asked).encode()
    return re.sub(rb"(?i)(\r\ncontent-length: *)\d+", rb"\g<1>%d" % len(made), head), made


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while part := source.recv(65536):
            sink.sendall(part)
        sink.shutdown(socket.SHUT_WR)
