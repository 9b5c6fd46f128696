"""A Hugging Face Hub on 127.0.0.1: what huggingface_hub asks of the real one, as the real one answers it.

`with HubServer() as hub: hub.add("org/name", {"config.json": b"..."})`, then `HfApi(endpoint=hub.url)`. Every answer's
size is kept in `served`, so that a test can say what was downloaded and what was not.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import TracebackType
from urllib.parse import parse_qs, unquote, urlsplit

GOOD_TOKEN = "hf_good"
STRANGER_TOKEN = "hf_stranger"


@dataclass
class Repo:
    """`files` by name, and the revisions that exist, each with its commit."""

    files: dict[str, bytes]
    commits: dict[str, str]
    gated: bool = False


@dataclass
class HubServer:
    """The server, in a thread of its own while the `with` lasts. `status` answers everything with that status."""

    repos: dict[str, Repo] = field(default_factory=dict)
    served: dict[str, int] = field(default_factory=dict)
    status: int | None = None

    def add(self, name: str, files: dict[str, bytes], gated: bool = False) -> str:
        """A repository with one commit, which main points to; returns the commit."""
        digests = [(file, hashlib.sha1(body).hexdigest()) for file, body in sorted(files.items())]
        commit = hashlib.sha1(repr((name, digests)).encode()).hexdigest()
        self.repos[name] = Repo(files, {"main": commit, commit: commit}, gated)
        return commit

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> HubServer:
        handler = type("Bound", (Handler,), {"hub": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class Handler(BaseHTTPRequestHandler):
    hub: HubServer

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the tests' output is for the tests."""

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def _answer(self) -> None:
        url = urlsplit(self.path)
        path = unquote(url.path)
        token = (self.headers.get("authorization") or "").removeprefix("Bearer ")
        if self.hub.status:
            self._refuse(self.hub.status, "", "as told")
        elif token and token not in (GOOD_TOKEN, STRANGER_TOKEN):
            self._refuse(401, "", "Invalid credentials in Authorization header")
        elif path == "/api/models":
            self._search(parse_qs(url.query).get("search", [""])[0])
        elif match := re.fullmatch(r"/api/models/([^/]+/[^/]+)(?:/revision/(.+))?", path):
            self._info(match.group(1), match.group(2) or "main", token)
        elif match := re.fullmatch(r"/api/models/([^/]+/[^/]+)/auth-check", path):
            self._may_read(match.group(1), token)
        elif match := re.fullmatch(r"/api/models/([^/]+/[^/]+)/tree/(.+)", path):
            self._tree(match.group(1), match.group(2), token)
        elif match := re.fullmatch(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path):
            self._file(match.group(1), match.group(2), match.group(3), token)
        else:
            self._refuse(404, "", "no such page")

    def _search(self, words: str) -> None:
        found = [{"id": name} for name in self.hub.repos if words.lower() in name.lower()]
        self._send(200, json.dumps(found).encode(), {"Content-Type": "application/json"})

    def _commit(self, name: str, revision: str, token: str) -> str | None:
        """The commit asked for, or None when the refusal is already sent."""
        repo = self.hub.repos.get(name)
        if repo is None:
            self._refuse(404 if token else 401, "RepoNotFound", "Repository not found")
            return None
        if revision not in repo.commits:
            self._refuse(404, "RevisionNotFound", f"Invalid rev id: {revision}")
            return None
        return repo.commits[revision]

    def _may_read(self, name: str, token: str) -> None:
        if self._commit(name, "main", token) is None:
            return
        if self.hub.repos[name].gated and token != GOOD_TOKEN:
            self._refuse(403 if token else 401, "GatedRepo", f"Access to model {name} is restricted")
        else:
            self._send(200, b"OK", {})

    def _info(self, name: str, revision: str, token: str) -> None:
        commit = self._commit(name, revision, token)
        if commit is None:
            return
        repo = self.hub.repos[name]
        siblings = [{"rfilename": file} for file in repo.files]
        info = {
            "id": name,
            "modelId": name,
            "sha": commit,
            "private": False,
            "gated": "manual" if repo.gated else False,
        }
        self._send(200, json.dumps({**info, "siblings": siblings}).encode(), {"Content-Type": "application/json"})

    def _tree(self, name: str, revision: str, token: str) -> None:
        if self._commit(name, revision, token) is None:
            return
        entries = [
            {"type": "file", "path": file, "size": len(body), "oid": hashlib.sha1(body).hexdigest()}
            for file, body in self.hub.repos[name].files.items()
        ]
        self._send(200, json.dumps(entries).encode(), {"Content-Type": "application/json"})

    def _file(self, name: str, revision: str, file: str, token: str) -> None:
        commit = self._commit(name, revision, token)
        if commit is None:
            return
        repo = self.hub.repos[name]
        if repo.gated and token != GOOD_TOKEN:
            self._refuse(403 if token else 401, "GatedRepo", f"Access to model {name} is restricted")
            return
        if file not in repo.files:
            self._refuse(404, "EntryNotFound", "Entry not found", {"X-Repo-Commit": commit})
            return
        body, status, headers = self._ranged(repo.files[file])
        headers |= {"X-Repo-Commit": commit, "ETag": f'"{hashlib.sha1(repo.files[file]).hexdigest()}"'}
        headers |= {"X-Linked-Size": str(len(repo.files[file])), "Accept-Ranges": "bytes"}
        if self.command == "GET":
            self.hub.served[file] = self.hub.served.get(file, 0) + len(body)
        self._send(status, body, headers)

    def _ranged(self, whole: bytes) -> tuple[bytes, int, dict[str, str]]:
        match = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("range") or "")
        if not match:
            return whole, 200, {}
        first, last = int(match.group(1)), min(int(match.group(2)), len(whole) - 1)
        return whole[first : last + 1], 206, {"Content-Range": f"bytes {first}-{last}/{len(whole)}"}

    def _refuse(self, status: int, code: str, message: str, more: dict[str, str] | None = None) -> None:
        headers = {"X-Error-Message": message} | ({"X-Error-Code": code} if code else {}) | (more or {})
        self._send(status, json.dumps({"error": message}).encode(), headers)

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
