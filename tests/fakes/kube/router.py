"""The pretend router behind a forwarded port: it answers for the workers whose pods are ready, as OpenAI's API does."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.fakes.kube.store import Store


class PretendRouter:
    """`mute` names are 503; `received` are the archives of uploads: folder -> names in it."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.mute: set[str] = set()
        self.received: dict[str, list[str]] = {}
        router = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args: object) -> None:
                """Nothing is printed."""

            def do_GET(self) -> None:
                _send(self, 200, {"object": "list", "data": [{"id": name} for name in router.names()]})

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                router.answer(self, self.path, body)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]

    def __enter__(self) -> PretendRouter:
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    def names(self) -> list[str]:
        """What is served, ready or not."""
        return sorted({name for name, _ in self._workers()})

    def _workers(self) -> Iterator[tuple[str, bool]]:
        """(name, whether its container is ready) of every worker of every pod."""
        for pod in self.store.listed("pods", ""):
            if pod["metadata"]["labels"].get("app.kubernetes.io/component") != "worker":
                continue
            names = pod["metadata"]["annotations"]["monogpu.served-names"].split(",")
            status = pod["status"]
            all_of = [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]
            ready = {one["name"]: one["ready"] for one in all_of}
            yield from ((name, ready.get(name, False)) for name in names)

    def answer(self, handler: BaseHTTPRequestHandler, path: str, body: dict[str, Any]) -> None:
        name = body["model"]
        known = [ready for one, ready in self._workers() if one == name]
        if not known:
            _send(handler, 404, {"error": {"message": f"no model {name}", "code": "model_not_found"}})
        elif not any(known) or name in self.mute:
            _send(handler, 503, {"error": {"message": f"no worker of {name} is ready"}})
        elif path == "/v1/embeddings":
            texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
            data = [{"index": n, "embedding": [float(len(text)), 1.0, n]} for n, text in enumerate(texts)]
            _send(handler, 200, {"model": name, "data": data, "usage": {"prompt_tokens": 3, "total_tokens": 3}})
        elif body.get("stream"):
            _stream(handler, name)
        else:
            choice = {"index": 0, "message": {"role": "assistant", "content": "a word"}, "finish_reason": "length"}
            usage = {"prompt_tokens": 4, "completion_tokens": 2, "total_tokens": 6}
            _send(handler, 200, {"model": name, "choices": [choice], "usage": usage})


def _send(handler: BaseHTTPRequestHandler, status: int, body: dict[str, Any]) -> None:
    data = json.dumps(body).encode()
    handler.send_response(status)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(data)))
    handler.end_headers()
    handler.wfile.write(data)


def _stream(handler: BaseHTTPRequestHandler, name: str) -> None:
    pieces = [{"delta": {"content": word}, "index": 0, "finish_reason": None} for word in ("a", " word")]
    pieces.append({"delta": {}, "index": 0, "finish_reason": "length"})
    text = (
        "".join(f"data: {json.dumps({'model': name, 'choices': [piece]})}\n\n" for piece in pieces) + "data: [DONE]\n\n"
    )
    data = text.encode()
    handler.send_response(200)
    handler.send_header("Content-Type", "text/event-stream")
    handler.send_header("Content-Length", str(len(data)))
    handler.end_headers()
    handler.wfile.write(data)
