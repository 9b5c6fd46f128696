"""Programs in containers and forwarded ports, over the official client's web sockets."""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kit.errors import Problem, TargetError
from kit.kubernetes.cluster import ExecResult

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

CHUNK = 512 * 1024
EXEC_SECONDS = 900.0  # for an upload of a model's folder
_STDOUT, _STDERR, _ERROR = 1, 2, 3


def tls_context(settings: Any) -> ssl.SSLContext | bool:
    """The certificates of a kubeconfig, as httpx takes them."""
    if not str(settings.host).startswith("https"):
        return True
    found = ssl.create_default_context(cafile=settings.ssl_ca_cert)
    if not settings.verify_ssl:
        found.check_hostname, found.verify_mode = False, ssl.CERT_NONE
    if settings.cert_file:
        found.load_cert_chain(settings.cert_file, settings.key_file)
    return found


def run(
    client: ApiClient, namespace: str, pod: str, container: str, command: Sequence[str], stdin: Path | None
) -> ExecResult:
    """Runs a program. Its input is all of the file: a program that reads to the end must know how much that is."""
    from kubernetes.client import CoreV1Api
    from kubernetes.client.exceptions import ApiException
    from kubernetes.stream import stream

    try:
        at = stream(
            CoreV1Api(client).connect_get_namespaced_pod_exec,
            pod,
            namespace,
            container=container,
            command=list(command),
            stdin=stdin is not None,
            stdout=True,
            stderr=True,
            tty=False,
            binary=True,
            _preload_content=False,
        )
    except ApiException as error:
        what = f"a program cannot be run in {pod}: {error.reason}"
        raise TargetError(Problem(what, "needed: permission to create pods/exec")) from None
    try:
        return _finished(at, stdin)
    finally:
        at.close()


def _finished(at: Any, stdin: Path | None) -> ExecResult:
    said: list[bytes] = []
    with contextlib.suppress(ConnectionError, ssl.SSLError, _closed()):
        if stdin is not None:
            with stdin.open("rb") as file:
                while chunk := file.read(CHUNK):
                    at.write_stdin(chunk)
                    at.update(timeout=0)
        at.run_forever(timeout=EXEC_SECONDS)
    said += [at.read_channel(channel) or b"" for channel in (_STDOUT, _STDERR)]
    return ExecResult(_code(at.read_channel(_ERROR)), b"".join(said).decode(errors="replace"))


def _closed() -> type[Exception]:
    from websocket import WebSocketException

    return WebSocketException


def _code(status: bytes | str | None) -> int | None:
    """The exit code in what the API server says at the end; None where it said nothing."""
    if not status:
        return None
    try:
        said = json.loads(status)
    except ValueError:
        return None
    if said.get("status") == "Success":
        return 0
    causes = (said.get("details") or {}).get("causes") or []
    return next((int(one["message"]) for one in causes if one.get("reason") == "ExitCode"), None)


@contextlib.contextmanager
def forwarded(client: ApiClient, namespace: str, pod: str, port: int) -> Iterator[str]:
    """A listener on 127.0.0.1 whose every connection is forwarded by a web socket of its own."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.2)
        done = threading.Event()
        accepting = threading.Thread(target=_accept, args=(listener, done, client, namespace, pod, port), daemon=True)
        accepting.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            done.set()
            accepting.join(timeout=5)


def _accept(
    listener: socket.socket, done: threading.Event, client: ApiClient, namespace: str, pod: str, port: int
) -> None:
    while not done.is_set():
        try:
            connection, _ = listener.accept()
        except TimeoutError:
            continue
        except OSError:
            return
        threading.Thread(target=_bridge, args=(connection, client, namespace, pod, port), daemon=True).start()


def _bridge(connection: socket.socket, client: ApiClient, namespace: str, pod: str, port: int) -> None:
    """One connection. Where the pod takes none, it is closed: the client sees a connection that failed."""
    from kubernetes.client import CoreV1Api
    from kubernetes.client.exceptions import ApiException
    from kubernetes.stream import portforward

    with connection:
        try:
            at = CoreV1Api(client).connect_get_namespaced_pod_portforward
            forward = portforward(at, pod, namespace, ports=str(port))
        except (ApiException, OSError):
            return
        remote = forward.socket(port)
        connection.settimeout(None)
        back = threading.Thread(target=_copy, args=(remote, connection), daemon=True)
        back.start()
        _copy(connection, remote)
        with contextlib.suppress(OSError):
            remote.close()
        back.join(timeout=5)


def _copy(source: Any, target: Any) -> None:
    """All bytes from one socket to another, then the end of them."""
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
