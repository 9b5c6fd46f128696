"""`exec` and `portforward` as web sockets with channels: v4.channel.k8s.io."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import re
import tarfile
from typing import TYPE_CHECKING

from aiohttp import WSMsgType, web

from tests.fakes.kube.store import Key

if TYPE_CHECKING:
    from tests.fakes.kube.server import FakeCluster

PROTOCOLS = ("v4.channel.k8s.io",)


async def exec_in(request: web.Request, cluster: FakeCluster, key: Key) -> web.WebSocketResponse:
    """Two programs are known: what receives an archive, and what kills an engine."""
    socket = web.WebSocketResponse(protocols=PROTOCOLS, max_msg_size=2**30)
    await socket.prepare(request)
    command = request.query.getall("command")
    pod = cluster.store.objects[key]
    if command[0] == "python3":
        cluster.kubelet.crash(key, request.query["container"])
        await _end(socket, 0)
        return socket
    length = re.search(r"head -c (\d+) \| tar -x", command[-1])
    assert length, command
    data = await _received(socket, int(length.group(1)))
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        names = archive.getnames()
    claim = next(v["persistentVolumeClaim"]["claimName"] for v in pod["spec"]["volumes"] if v["name"] == "models")
    env = {one["name"]: one["value"] for one in pod["spec"]["containers"][0]["env"]}
    cluster.kubelet.marks.add((claim, env["MARK"].rpartition("/")[2]))
    cluster.router.received[env["FOLDER"]] = names
    await _end(socket, 0)
    return socket


async def _received(socket: web.WebSocketResponse, length: int) -> bytes:
    data = bytearray()
    while len(data) < length:
        message = await socket.receive(timeout=30)
        if message.type is not WSMsgType.BINARY:
            break
        assert message.data[0] == 0, "not the channel of the input"
        data += message.data[1:]
    return bytes(data)


async def _end(socket: web.WebSocketResponse, code: int) -> None:
    status = {"status": "Success"} if code == 0 else {"status": "Failure"}
    await socket.send_bytes(b"\x03" + json.dumps(status).encode())
    await socket.close()


async def forward(request: web.Request, cluster: FakeCluster, key: Key) -> web.WebSocketResponse:
    """Each connection leads to the pretend router."""
    socket = web.WebSocketResponse(protocols=PROTOCOLS, max_msg_size=2**30)
    await socket.prepare(request)
    port = int(request.query["ports"])
    for channel in (0, 1):
        await socket.send_bytes(bytes([channel, port % 256, port // 256]))
    reader, writer = await asyncio.open_connection("127.0.0.1", cluster.router.port)

    async def back() -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65536):
                await socket.send_bytes(b"\x00" + data)
            await socket.close()

    task = asyncio.create_task(back())
    async for message in socket:
        if message.type is WSMsgType.BINARY and message.data[0] == 0:
            writer.write(message.data[1:])
            await writer.drain()
    writer.close()
    task.cancel()
    return socket
