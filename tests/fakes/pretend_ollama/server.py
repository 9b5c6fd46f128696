"""The HTTP API: Ollama's own, and the one for OpenAI's clients."""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from . import answers, store
from .store import Made

VERSION = "0.24.0"
loaded: dict[str, Made] = {}
lock = threading.Lock()


class Missing(Exception):
    """A model that is not there."""


def model(body: dict[str, Any]) -> Made:
    name = str(body.get("model") or body.get("name") or "")
    found = store.find(name)
    if found is None:
        raise Missing(name)
    with lock:
        most = int(os.environ.get("OLLAMA_MAX_LOADED_MODELS") or 3)
        loaded[found.name] = loaded.pop(found.name, found)
        while len(loaded) > most:
            del loaded[next(iter(loaded))]
    return found


def context(made: Made) -> int:
    return int(made.parameters.get("num_ctx") or os.environ.get("OLLAMA_CONTEXT_LENGTH") or 4096)


def prompt_of(body: dict[str, Any]) -> str:
    return str(body.get("prompt") or json.dumps(body.get("messages", "")))


def said(made: Made, body: dict[str, Any]) -> list[str]:
    """A prompt with "wait 3 s" in it is answered after that time."""
    if slow := re.search(r"wait (\d+) s", prompt_of(body)):
        time.sleep(int(slow.group(1)))
    most = body.get("max_tokens") or body.get("options", {}).get("num_predict") or 16
    return answers.words(made, prompt_of(body), int(most))


def native(body: dict[str, Any], key: str, put: Callable[[str], Any]) -> Iterator[dict[str, Any]]:
    """/api/chat and /api/generate: pieces, then the counts."""
    made = model(body)
    head = {"model": body["model"], "created_at": answers.now()}
    pieces = said(made, body)
    if body.get("stream", True):
        for piece in pieces:
            yield {**head, key: put(piece), "done": False}
        yield {**head, key: put(""), **answers.done(len(pieces))}
    else:
        yield {**head, key: put("".join(pieces)), **answers.done(len(pieces))}


def openai(body: dict[str, Any], chat: bool) -> Iterator[dict[str, Any]]:
    """/v1/chat/completions and /v1/completions."""
    made = model(body)
    pieces, streams = said(made, body), bool(body.get("stream"))
    kind = ("chat.completion" if chat else "text_completion") + (".chunk" if chat and streams else "")
    head = {"id": "pretend-1", "object": kind, "created": int(time.time()), "model": body["model"]}

    def choice(text: str, reason: str | None) -> dict[str, Any]:
        message = {"role": "assistant", "content": text}
        part = ({"delta" if streams else "message": message}) if chat else {"text": text}
        return {**head, "choices": [{"index": 0, **part, "finish_reason": reason}]}

    if not streams:
        yield {**choice("".join(pieces), "stop"), "usage": answers.usage(len(pieces))}
        return
    yield from (choice(piece, None) for piece in pieces)
    yield choice("", "stop")


def texts(body: dict[str, Any]) -> list[str]:
    given = body.get("input", "")
    return [given] if isinstance(given, str) else list(given)


def pull(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    name = str(body.get("model") or body.get("name"))
    yield {"status": "pulling manifest"}
    if name.startswith("missing"):
        yield {"error": "pull model manifest: file does not exist"}
        return
    digest = Made(store.full(name), store.full(name)).digest
    for part in (1, 2):
        yield {"status": f"pulling {digest[:12]}", "digest": f"sha256:{digest}", "total": 2, "completed": part}
    store.keep(Made(store.full(name), store.full(name)))
    yield from ({"status": word} for word in ("verifying sha256 digest", "writing manifest", "success"))


def create(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    origin = store.find(str(body.get("from", "")))
    if origin is None and not str(body.get("from", "")).startswith("/"):
        yield {"error": f"model '{body.get('from')}' not found"}
        return
    made = origin.origin if origin else str(body["from"])
    store.keep(Made(store.full(str(body["model"])), made, dict(body.get("parameters") or {})))
    yield from ({"status": word} for word in ("using existing layer", "writing manifest", "success"))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "pretend-ollama"

    def log_message(self, format: str, *args: Any) -> None:
        print(f'[GIN] {args[1] if len(args) > 1 else ""} | {self.command} "{self.path}"', flush=True)

    def do_HEAD(self) -> None:
        self.text(200 if self.path in ("/", "/api/tags", "/api/version") else 404, "", "text/plain")

    def do_GET(self) -> None:
        got = {
            "/api/version": lambda: {"version": VERSION},
            "/api/tags": lambda: {"models": [answers.listed(made) for made in store.everything()]},
            "/api/ps": lambda: {"models": [answers.running(made, context(made)) for made in loaded.values()]},
            "/v1/models": lambda: {
                "object": "list",
                "data": [
                    {"id": made.name, "object": "model", "created": 1, "owned_by": "library"}
                    for made in store.everything()
                ],
            },
        }.get(self.path)
        if self.path == "/":
            self.text(200, "Ollama is running", "text/plain")
        elif got:
            self.json(200, got())
        else:
            self.text(404, "404 page not found", "text/plain")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        try:
            self.answer(body)
        except Missing as error:
            own = f"model '{error}' not found"
            v1 = {"message": own, "type": "not_found_error", "param": None, "code": None}
            self.json(404, {"error": v1 if self.path.startswith("/v1") else own})

    def do_DELETE(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        there = store.find(str(body.get("model")))
        store.forget(str(body.get("model")))
        self.text(200 if there else 404, "" if there else json.dumps({"error": "model not found"}), "application/json")

    def answer(self, body: dict[str, Any]) -> None:
        if self.path == "/api/show":
            self.json(200, answers.shown(model(body)))
        elif self.path == "/api/chat":
            self.lines(native(body, "message", lambda text: {"role": "assistant", "content": text}), body)
        elif self.path == "/api/generate":
            self.lines(native(body, "response", str), body)
        elif self.path in ("/api/pull", "/api/create"):
            self.lines(pull(body) if self.path == "/api/pull" else create(body), body)
        elif self.path == "/api/embed":
            made = model(body)
            vectors = [answers.vector(made, text) for text in texts(body)]
            self.json(200, {"model": body["model"], "embeddings": vectors, "prompt_eval_count": 7})
        elif self.path == "/v1/embeddings":
            made = model(body)
            data = [
                {"object": "embedding", "index": n, "embedding": answers.vector(made, text)}
                for n, text in enumerate(texts(body))
            ]
            self.json(200, {"object": "list", "data": data, "model": body["model"], "usage": answers.usage(0)})
        elif self.path in ("/v1/chat/completions", "/v1/completions"):
            self.events(openai(body, chat="chat" in self.path), body)
        else:
            self.text(404, "404 page not found", "text/plain")

    def lines(self, objects: Iterator[dict[str, Any]], body: dict[str, Any]) -> None:
        """One JSON object a line; the last one alone for `stream: false`."""
        first = next(objects)
        if body.get("stream", True):
            self.chunks("application/x-ndjson", (f"{json.dumps(one)}\n" for one in (first, *objects)))
            return
        last = [first, *objects][-1]
        self.json(500 if "error" in last else 200, last)

    def events(self, objects: Iterator[dict[str, Any]], body: dict[str, Any]) -> None:
        first = next(objects)
        if body.get("stream"):
            frames = (f"data: {json.dumps(one)}\n\n" for one in (first, *objects))
            self.chunks("text/event-stream", (*frames, "data: [DONE]\n\n"))
        else:
            self.json(200, first)

    def chunks(self, kind: str, parts: Iterable[str]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for part in parts:
            data = part.encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.write(b"0\r\n\r\n")

    def json(self, status: int, value: Any) -> None:
        self.text(status, json.dumps(value), "application/json; charset=utf-8")

    def text(self, status: int, text: str, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())


def serve(host: str, port: int) -> None:
    server = ThreadingHTTPServer((host, port), Handler)
    print(f"Listening on {host}:{server.server_port} (version {VERSION})", flush=True)
    server.serve_forever()
