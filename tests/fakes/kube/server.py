"""The HTTP side of the fake API server, on a port of its own in a thread: requests, watches, and the faults that are
asked for. Streams are in streams.py."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from aiohttp import web

from kit.kubernetes.cluster import KINDS
from tests.fakes.kube import streams
from tests.fakes.kube.controllers import TICK, Kubelet
from tests.fakes.kube.router import PretendRouter
from tests.fakes.kube.store import Conflict, Key, Store

PLURALS = {plural: kind for kind, (_, plural) in KINDS.items()}


@dataclass
class FakeCluster:
    """The server, and what can be done to it: `busy` requests are answered 429, `forbidden` (method, plural) 403; while
    `away` no connection is answered."""

    store: Store
    kubelet: Kubelet
    router: PretendRouter
    port: int = 0
    busy: int = 0
    away: bool = False
    dropped: int = 0  # connections that are closed without an answer
    forbidden: set[tuple[str, str]] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)  # plurals that this cluster does not have
    cut_watches: bool = False
    broken: list[str] = field(default_factory=list)  # faults of this fake itself
    asked: list[tuple[str, str]] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def kubeconfig(self, folder: Path) -> Path:
        """A kubeconfig that leads here."""
        path = folder / "kubeconfig"
        cluster = {"name": "fake", "cluster": {"server": self.url}}
        context = {"name": "fake", "context": {"cluster": "fake", "user": "fake"}}
        user = {"name": "fake", "user": {"token": "a-token"}}
        config = {"apiVersion": "v1", "kind": "Config", "clusters": [cluster], "contexts": [context], "users": [user]}
        path.write_text(yaml.safe_dump({**config, "current-context": "fake"}))
        return path

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Any request."""
        if self.away or self.dropped > 0:
            self.dropped -= 1
            transport = request.transport
            if transport is not None:
                transport.abort()
            return web.Response(status=500)
        if request.headers.get("Authorization") != "Bearer a-token":
            return _status(401, "Unauthorized")
        if request.path == "/version":
            return web.json_response({"gitVersion": "v1.36.2"})
        parts = request.path.strip("/").split("/")
        plural, namespace, name, rest = _place(parts)
        self.asked.append((request.method, request.path))
        if self.busy > 0:
            self.busy -= 1
            return web.json_response({"message": "too many requests"}, status=429, headers={"Retry-After": "0"})
        if (request.method, plural) in self.forbidden:
            return _status(403, f'{plural} is forbidden: User "someone" cannot {request.method} them')
        if plural not in PLURALS or plural in self.unknown:
            return _status(404, "the server could not find the requested resource")
        key = (plural, namespace, name)
        if rest == "exec":
            return await streams.exec_in(request, self, key)
        if rest == "portforward":
            return await streams.forward(request, self, key)
        if rest == "log":
            return web.Response(text=self.kubelet.trouble.get(f"log of {request.query['container']}", ""))
        return await self._objects(request, key)

    async def _objects(self, request: web.Request, key: Key) -> web.StreamResponse:
        plural, namespace, name = key
        if request.method == "PATCH":
            return self._apply(key, yaml.safe_load(await request.text()), request.query["fieldManager"])
        if request.method == "DELETE":
            if key not in self.store.objects:
                return _status(404, f"{plural} {name!r} not found")
            self._delete(key)
            return web.json_response({"status": "Success"})
        if name:
            one = self.store.objects.get(key)
            return web.json_response(one) if one else _status(404, f"{plural} {name!r} not found")
        if request.query.get("watch"):
            return await self._watch(request, key)
        labels = dict(part.split("=", 1) for part in request.query.get("labelSelector", "").split(",") if part)
        items = self.store.listed(plural, namespace, labels)
        return web.json_response({"metadata": {"resourceVersion": str(self.store.version)}, "items": items})

    def _apply(self, key: Key, given: dict[str, Any], manager: str) -> web.Response:
        plural, namespace, _ = key
        if namespace and ("namespaces", "", namespace) not in self.store.objects and plural != "namespaces":
            return _status(404, f'namespaces "{namespace}" not found')
        before = self.store.objects.get(key)
        changed = before and plural == "jobs" and given["spec"]["template"] != before["spec"]["template"]
        if changed:
            return _status(422, "spec.template: field is immutable")
        try:
            now, new = self.store.apply(key, given, manager)
        except Conflict as error:
            causes = [
                {"reason": "FieldManagerConflict", "message": f'conflict with "{who}"', "field": at}
                for at, who in error.fields
            ]
            body = {"message": "Apply failed with conflicts", "reason": "Conflict", "details": {"causes": causes}}
            return web.json_response(body, status=409)
        if plural == "persistentvolumeclaims":
            now["status"] = {"phase": "Bound"}
        return web.json_response(now, status=201 if new else 200)

    def _delete(self, key: Key) -> None:
        if key[0] == "namespaces":
            for other in [other for other in self.store.objects if other[1] == key[2]]:
                self.store.delete(other)
        self.store.delete(key)

    async def _watch(self, request: web.Request, key: Key) -> web.StreamResponse:
        """The changes of a kind from now on, until the time is over; or none, when watches are cut."""
        if self.cut_watches:
            return _status(410, "too old resource version")
        reply = web.StreamResponse()
        await reply.prepare(request)
        seen = self.store.version
        until = time.monotonic() + float(request.query.get("timeoutSeconds", 5))
        while time.monotonic() < until and not self.stop.is_set():
            news = [entry for entry in self.store.log if entry[0] > seen and entry[1][0] == key[0]]
            for version, which, verb in news:
                seen = version
                event = {"type": verb, "object": self.store.objects.get(which, {})}
                with contextlib.suppress(ConnectionError):
                    await reply.write(json.dumps(event).encode() + b"\n")
            await asyncio.sleep(TICK)
        return reply


def _place(parts: list[str]) -> tuple[str, str, str, str]:
    """(plural, namespace, name, subresource) of a path."""
    rest = parts[2:] if parts[0] == "api" else parts[3:]
    if rest[:1] == ["namespaces"] and len(rest) > 2:
        namespace, rest = rest[1], rest[2:]
    else:
        namespace = ""
    plural, name, sub, *_ = [*rest, "", "", ""]
    return plural, namespace, name, sub


def _status(code: int, message: str) -> web.Response:
    return web.json_response({"kind": "Status", "status": "Failure", "message": message, "code": code}, status=code)


@contextlib.contextmanager
def fake_cluster() -> Iterator[FakeCluster]:
    """A running server with its controllers."""
    store = Store()
    cluster = FakeCluster(store, Kubelet(store), PretendRouter(store))
    with socket.create_server(("127.0.0.1", 0)) as free:
        cluster.port = free.getsockname()[1]
    ready = threading.Event()
    serving = threading.Thread(target=_serve, args=(cluster, ready), daemon=True)
    rounds = threading.Thread(target=_rounds, args=(cluster,), daemon=True)
    with cluster.router:
        serving.start()
        rounds.start()
        assert ready.wait(10)
        yield cluster
        cluster.stop.set()
        serving.join(10)
        rounds.join(10)


def _rounds(cluster: FakeCluster) -> None:
    while not cluster.stop.wait(TICK):
        try:
            cluster.kubelet.tick()
        except Exception as error:
            cluster.broken.append(repr(error))
            raise


def _serve(cluster: FakeCluster, ready: threading.Event) -> None:
    async def main() -> None:
        app = web.Application(client_max_size=2**30)
        app.router.add_route("*", "/{tail:.*}", cluster.handle)
        runner = web.AppRunner(app, shutdown_timeout=1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", cluster.port).start()
        ready.set()
        while not cluster.stop.is_set():
            await asyncio.sleep(0.05)
        await runner.cleanup()

    asyncio.run(main())
