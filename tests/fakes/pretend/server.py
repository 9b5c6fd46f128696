"""HTTP/1.1 with keep-alive, as uvicorn in front of vLLM: routes by task, the API key, access lines, SSE in chunks."""

from __future__ import annotations

import json
import secrets
import socket
import time
from collections.abc import Callable, Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from . import admin, generate, pooling
from .engine import Engine, EngineDeadError
from .errors import port_taken
from .replies import ApiError, Body, Reply, dead, reply_json

KEEP_ALIVE_SECONDS = 5
GUARDED = ("/v1", "/v2", "/inference")
Handler = Callable[[Engine, Body], Reply]
Routes = dict[str, dict[str, Handler]]


def routes_of(engine: Engine) -> Routes:
    """path -> method -> handler; a generating worker has no embeddings, a pooling one no chat."""
    get: dict[str, Handler] = {
        "/health": admin.health, "/ping": admin.health, "/version": admin.version, "/load": admin.load,
        "/metrics": admin.metrics, "/v1/models": admin.models, "/pretend": admin.state,
    }  # fmt: skip
    post: dict[str, Handler] = {"/ping": admin.health, "/tokenize": admin.tokenize, "/pretend/fault": admin.set_fault}
    if not engine.config.pooling:
        post |= {"/v1/chat/completions": generate.chat, "/v1/completions": generate.completions}
    else:
        post |= {"/pooling": pooling.pooling, **dict.fromkeys(("/score", "/v1/score"), pooling.score)}
        post |= dict.fromkeys(("/rerank", "/v1/rerank", "/v2/rerank"), pooling.rerank)
        post["/classify" if engine.config.task == "classify" else "/v1/embeddings"] = (
            pooling.classify if engine.config.task == "classify" else pooling.embeddings
        )
    if engine.settings.runtime_lora:
        post |= {"/v1/load_lora_adapter": admin.load_adapter, "/v1/unload_lora_adapter": admin.unload_adapter}
    if engine.settings.dev_mode and engine.args.enable_sleep_mode:
        get["/is_sleeping"] = admin.is_sleeping
        post |= {"/sleep": admin.sleep, "/wake_up": admin.wake_up}
    paths = sorted(get.keys() | post.keys())
    return {path: {m: table[path] for m, table in (("GET", get), ("POST", post)) if path in table} for path in paths}


class Server(ThreadingHTTPServer):
    """Bound from the start, as vLLM's, so that a taken port is noticed at once; listens when the engine is ready."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 256
    engine: Engine
    routes: Routes
    api_keys: tuple[str, ...] = ()

    def __init__(self, host: str, port: int) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.busy = 0
        super().__init__((host, port), Connection, bind_and_activate=False)
        try:
            self.server_bind()
        except OSError as error:
            raise port_taken() from error

    def server_bind(self) -> None:
        """Without HTTPServer's reverse look-up of the host name."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def open(self, engine: Engine) -> None:
        keys = engine.args.api_keys or tuple(filter(None, [engine.settings.api_key]))
        self.engine, self.routes, self.api_keys = engine, routes_of(engine), keys
        self.server_activate()

    def settle(self, seconds: float) -> bool:
        """Waits until no request is under way; False when `seconds` were not enough."""
        end = time.monotonic() + seconds
        while self.busy and time.monotonic() < end:
            time.sleep(0.01)
        return not self.busy


class Connection(BaseHTTPRequestHandler):
    """One client's connection."""

    protocol_version = "HTTP/1.1"
    server_version = "uvicorn"
    sys_version = ""
    disable_nagle_algorithm = True
    server: Server

    def handle_one_request(self) -> None:
        self.connection.settimeout(KEEP_ALIVE_SECONDS)
        super().handle_one_request()

    def do_GET(self) -> None:
        self._serve("GET")

    def do_POST(self) -> None:
        self._serve("POST")

    def do_DELETE(self) -> None:
        self._serve("DELETE")

    def _serve(self, method: str) -> None:
        self.connection.settimeout(None)
        self.server.busy += 1
        try:
            self._send(self._reply(method))
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        finally:
            self.server.busy -= 1

    def _reply(self, method: str) -> Reply:
        parts = urlsplit(self.path)
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if parts.path.startswith(GUARDED) and not self._allowed():
            return reply_json({"error": "Unauthorized"}, 401)
        methods = self.server.routes.get(parts.path)
        try:
            if methods is None or method not in methods:
                status = HTTPStatus.METHOD_NOT_ALLOWED if methods else HTTPStatus.NOT_FOUND
                raise ApiError(status.phrase, status, status.phrase)
            body = self._body(raw, parts.path) if method == "POST" else {}
            return methods[method](self.server.engine, {**dict(parse_qsl(parts.query)), **body})
        except ApiError as error:
            return reply_json(error.body, error.status)
        except EngineDeadError:
            return reply_json(dead().body, 500)

    def _allowed(self) -> bool:
        if not self.server.api_keys:
            return True
        scheme, _, token = (self.headers.get("Authorization") or "").partition(" ")
        known = [secrets.compare_digest(token.encode(), key.encode()) for key in self.server.api_keys]
        return scheme.lower() == "bearer" and any(known)

    def _body(self, raw: bytes, path: str) -> Body:
        if not raw:
            return {}
        kind = (self.headers.get("Content-Type") or "").split(";")[0].strip().lower()
        if kind != "application/json" and path.startswith("/v"):
            raise ApiError("Unsupported Media Type: Only 'application/json' is allowed", 400, "Bad Request")
        try:
            data: Any = json.loads(raw)
        except ValueError as error:
            raise ApiError(f"1 validation error:\n  JSON decode error: {error}", 400, "Bad Request") from error
        if not isinstance(data, dict):
            raise ApiError("1 validation error:\n  Input should be a valid dictionary", 400, "Bad Request")
        return data

    def _send(self, reply: Reply) -> None:
        self._say_access(reply.status)
        self.send_response_only(reply.status)
        self.send_header("date", self.date_time_string())
        self.send_header("server", "uvicorn")
        if reply.content_type:
            self.send_header("content-type", reply.content_type)
        if reply.events is None:
            data = reply.body.encode()
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
            return
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        self._stream(reply.events)

    def _stream(self, events: Iterator[str]) -> None:
        """A client that goes away ends its request in the engine, too."""
        try:
            for event in events:
                data = event.encode()
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.write(b"0\r\n\r\n")
        finally:
            close = getattr(events, "close", None)
            if close:
                close()

    def _say_access(self, status: int) -> None:
        args = self.server.engine.args
        if not args.access_log or urlsplit(self.path).path in args.quiet_endpoints:
            return
        peer = f"{self.client_address[0]}:{self.client_address[1]}"
        phrase = HTTPStatus(status).phrase
        self.server.engine.log.raw(
            f'INFO:     {peer} - "{self.command} {self.path} {self.request_version}" {status} {phrase}'
        )

    def log_message(self, format: str, *args: Any) -> None:
        """uvicorn says nothing about idle connections it closes."""
