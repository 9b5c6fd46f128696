"""A stack as it is printed by default, looked at by those who should get nowhere: other users of the host, a container
on another network, a client with the key, a client without one, and whoever reads files, logs and `docker inspect`.

`pytest --docker tests/docker/test_safety.py` prints the port scan.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from kit.compose import exec as inside
from kit.compose import up
from kit.routers.smg import KEY_FILE
from tests.support.walks import SMALL, TINY, Walk, model, walk

if TYPE_CHECKING:
    from docker import DockerClient

pytestmark = pytest.mark.docker

WORKER, ENDPOINT, METRICS = 8000, 30000, 29000
PORTS = (WORKER, ENDPOINT, METRICS)
# argv: URLs. Prints a JSON list: the status of each, 0 where nobody answers. What answers here at all is HTTP.
ASK = """
import http.client, json, sys, urllib.parse
from concurrent.futures import ThreadPoolExecutor
def ask(text):
    url = urllib.parse.urlsplit(text)
    try:
        link = http.client.HTTPConnection(url.hostname, url.port, timeout=4)
        link.request("GET", url.path)
        return link.getresponse().status
    except Exception:
        return 0
print(json.dumps(list(ThreadPoolExecutor(16).map(ask, sys.argv[1:]))))
"""


@dataclass(frozen=True)
class Locked:
    """A running stack, and the key that its clients must send."""

    walk: Walk
    key: str

    def inspect(self) -> dict[str, Any]:
        api = self.walk.client.api
        return {name: api.inspect_container(each.id) for name, each in self.walk.containers().items()}

    def addresses(self) -> dict[tuple[str, str], str]:
        """(service, network) -> address."""
        return {
            (name, network.removeprefix(f"{self.walk.name}_")): place["IPAddress"]
            for name, attrs in self.inspect().items()
            if attrs["State"]["Running"]
            for network, place in attrs["NetworkSettings"]["Networks"].items()
        }

    def logs(self) -> str:
        api = self.walk.client.api
        return "\n".join(api.logs(each.id).decode(errors="replace") for each in self.walk.containers().values())


@pytest.fixture(scope="module")
def client() -> Iterator[DockerClient]:
    found = up.connect(os.environ)
    found.images.get("monogpu/pretend:1")
    yield found
    found.close()


@pytest.fixture(scope="module", params=["env", "file"])
def locked(
    request: pytest.FixtureRequest, client: DockerClient, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Locked]:
    """The key comes by the environment, or by a file."""
    key = f"mgk-{secrets.token_hex(16)}"
    with walk(tmp_path_factory.mktemp("safe"), client) as made:
        if request.param == "env":
            made.environ["SAFE_KEY"] = key
            router = ", api_key: SAFE_KEY"
        else:
            file = made.folder / "secrets" / "api-key"
            file.parent.mkdir(mode=0o700)
            file.write_text(key + "\n")
            file.chmod(0o444)
            router = ", api_key_file: ./secrets/api-key"
        made.write(model("chat", SMALL), model("embed", TINY, "task: embed"), router=router)
        made.up().good()
        yield Locked(made, key)


@pytest.fixture
def by_env(locked: Locked) -> bool:
    return "SAFE_KEY" in locked.walk.environ


@pytest.fixture
def foreign(client: DockerClient) -> Iterator[str]:
    """A container on a network of its own, as any other stack of this host is; it serves /health itself."""
    name = f"mgk-saf-{secrets.token_hex(4)}"
    network = client.networks.create(name)
    serve = f"mkdir /tmp/www; touch /tmp/www/health; exec python3 -m http.server {WORKER} -d /tmp/www"
    made = client.containers.run("monogpu/base:1", ["sh", "-c", serve], name=name, network=name, detach=True, init=True)
    yield str(made.id)
    made.remove(force=True)
    network.remove()


def scan(locked: Locked, ask: Any, who: str) -> dict[str, int]:
    """Every port of every container, and the published one, asked for /health by `ask`."""
    places = {
        f"{who} -> {service} on {network}: {port}": f"http://{address}:{port}/health"
        for (service, network), address in locked.addresses().items()
        for port in PORTS
    }
    return dict(zip(places, ask(list(places.values())), strict=True))


def from_the_host(urls: list[str]) -> list[int]:
    done = subprocess.run([sys.executable, "-c", ASK, *urls], capture_output=True, text=True, check=True)
    answers: list[int] = json.loads(done.stdout)
    return answers


def test_the_endpoint_alone_is_reached_from_the_host_and_from_a_foreign_container(
    locked: Locked, foreign: str, client: DockerClient, capsys: pytest.CaptureFixture[str]
) -> None:
    def from_the_container(urls: list[str]) -> list[int]:
        answers: list[int] = json.loads(inside.run(client, foreign, ASK, *urls))
        return answers

    seen = scan(locked, from_the_host, "host") | scan(locked, from_the_container, "foreign container")
    published = {f"host -> published 127.0.0.1:{locked.walk.port}": f"http://127.0.0.1:{locked.walk.port}/health"}
    seen |= dict(zip(published, from_the_host(list(published.values())), strict=True))
    gateways = {
        f"foreign container -> host's {address}:{locked.walk.port}": f"http://{address}:{locked.walk.port}/health"
        for address in _gateways(client, foreign, locked.walk.name)
    }
    seen |= dict(zip(gateways, from_the_container(list(gateways.values())), strict=True))
    its_own = client.api.inspect_container(foreign)["NetworkSettings"]["Networks"].popitem()[1]["IPAddress"]
    control = f"http://{its_own}:{WORKER}/health"
    assert (from_the_host([control]), from_the_container([control])) == ([200], [200]), "a scan that finds nothing"
    with capsys.disabled():
        print("\n" + "\n".join(f"  {'OPEN  ' if code == 200 else 'closed'}  {what}" for what, code in seen.items()))
    assert sorted(what for what, code in seen.items() if code == 200) == [
        "host -> published 127.0.0.1:" + str(locked.walk.port),
        "host -> router on edge: 30000",
    ]


def _gateways(client: DockerClient, foreign: str, project: str) -> list[str]:
    """The addresses under which containers of the foreign network and of the stack know this host."""
    joined = client.api.inspect_container(foreign)["NetworkSettings"]["Networks"]
    names = ["bridge", *joined, f"{project}_edge"]
    configs = [client.networks.get(name).attrs["IPAM"]["Config"] for name in names]
    return sorted({entry["Gateway"] for listed in configs for entry in listed if "Gateway" in entry})


def ask(locked: Locked, path: str, key: str | None, method: str = "GET") -> int:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    body = (
        {"model": "chat", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 1}
        if method == "POST"
        else None
    )
    url = f"http://127.0.0.1:{locked.walk.port}{path}"
    return httpx.request(method, url, headers=headers, json=body, timeout=30, trust_env=False).status_code


CONTROL = [
    ("GET", "/workers"), ("POST", "/workers"), ("GET", "/get_loads"), ("POST", "/flush_cache"),
    ("GET", "/v1/tokenizers"), ("POST", "/v1/tokenizers"), ("GET", "/wasm"), ("POST", "/wasm"),
    ("POST", "/start_profile"), ("POST", "/heap_profile"), ("POST", "/parse/reasoning"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path"), CONTROL)
def test_no_client_manages_the_router_whatever_key_it_has(locked: Locked, method: str, path: str) -> None:
    assert {ask(locked, path, key, method) for key in (None, "wrong", locked.key)} <= {401, 403, 404, 405}


def test_models_answer_to_the_key_and_to_nothing_else(locked: Locked) -> None:
    answers = {key: ask(locked, "/v1/chat/completions", key, "POST") for key in (None, "wrong", locked.key)}
    assert answers == {None: 401, "wrong": 401, locked.key: 200}


OPEN = {"/health": 200, "/liveness": 200, "/readiness": 200, "/v1/models": 200, "/engine_metrics": 200}
CLOSED = ["/metrics", "/v1/conversations", "/v1/responses/x", "/docs", "/openapi.json", "/sleep", "/collective_rpc"]


def test_what_is_told_without_a_key_is_what_the_router_says_it_tells(locked: Locked) -> None:
    """SMG 1.13 has no switch for these: names and counters, nothing that serves or changes."""
    assert {path: ask(locked, path, None) for path in OPEN} == OPEN
    assert {ask(locked, path, None) for path in CLOSED} <= {401, 404, 405}


def test_the_kit_itself_can_look_at_the_router(locked: Locked) -> None:
    said = locked.walk.kit("status", "--json").good().json
    assert said["routed"] == {"chat": "ready", "embed": "ready"}
    assert {one["service"]: one["running"] for one in said["services"] if one["role"] == "worker"} == {
        "chat": 0,
        "embed": 0,
    }


def test_the_key_is_in_no_file_beside_the_manifest(locked: Locked) -> None:
    files = [path for path in locked.walk.folder.rglob("*") if path.is_file() and path.parent.name != "secrets"]
    assert "docker-compose.yaml" in {path.name for path in files}
    assert [str(path) for path in files if locked.key.encode() in path.read_bytes()] == []


def test_the_key_is_inspected_in_no_container_but_the_routers(locked: Locked, by_env: bool) -> None:
    holders = {name for name, attrs in locked.inspect().items() if locked.key in json.dumps(attrs)}
    assert holders == ({"router"} if by_env else set())


def test_a_key_in_a_file_is_mounted_into_the_router_alone(locked: Locked, by_env: bool) -> None:
    mounted = {
        name: mount["RW"]
        for name, attrs in locked.inspect().items()
        for mount in attrs["Mounts"]
        if mount["Destination"] == KEY_FILE
    }
    assert mounted == ({} if by_env else {"router": False})


def command(pid: int) -> str:
    """The words of a process; "" of one that has ended, such as a health check's."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def test_the_key_is_in_no_log_and_in_no_list_of_processes(locked: Locked) -> None:
    control = inside.run(locked.walk.client, _router(locked), "print(open('/tmp/control-key').read())").strip()
    pids = [pid for listed in inside.pids(locked.walk.client, locked.walk.name).values() for pid in listed]
    lines = [command(pid) for pid in pids]
    assert any("pretend" in line for line in lines)
    for secret in (locked.key, control):
        assert len(secret) >= 32
        assert secret not in locked.logs()
        assert [line for line in lines if secret in line] == []


def _router(locked: Locked) -> str:
    return inside.container_of(locked.walk.client, locked.walk.name, "router")


def test_the_kit_never_says_the_key(locked: Locked) -> None:
    commands = (
        "status",
        "verify",
        "doctor",
        "up --gpu gpu.json --dry-run",
        "logs router",
        "plan --gpu gpu.json --json",
    )
    for command in commands:
        said = locked.walk.kit(*command.split())
        assert locked.key not in said.out + said.err, command


def test_a_worker_cannot_read_the_key(locked: Locked) -> None:
    look = "import os, pathlib; print(os.environ, pathlib.Path('/run/secrets').exists())"
    worker = inside.container_of(locked.walk.client, locked.walk.name, "chat")
    said = inside.run(locked.walk.client, worker, look)
    assert locked.key not in said
    assert said.endswith("False\n")


def test_every_container_is_confined(locked: Locked) -> None:
    for name, attrs in locked.inspect().items():
        host = attrs["HostConfig"]
        assert host["CapDrop"] == ["ALL"], name
        assert not host["CapAdd"], name
        assert host["SecurityOpt"] == ["no-new-privileges:true"], name
        assert not host["Privileged"], name
        assert [host["NetworkMode"], host["PidMode"], host["IpcMode"], host["UTSMode"]].count("host") == 0, name
        assert not [mount for mount in attrs["Mounts"] if "sock" in mount["Source"]], name
        assert bool(host["PortBindings"]) == (name == "router"), name


def test_the_router_is_nobody_on_a_file_system_that_it_cannot_write(locked: Locked) -> None:
    attrs = locked.inspect()["router"]
    assert (attrs["Config"]["User"], attrs["HostConfig"]["ReadonlyRootfs"]) == ("65532:65532", True)
    tried = "import os; print(os.getuid(), os.access('/etc/smg', os.W_OK), os.access('/usr', os.W_OK))"
    assert inside.run(locked.walk.client, _router(locked), tried) == "65532 False False\n"


def test_a_worker_reaches_nothing_outside(locked: Locked) -> None:
    worker = inside.container_of(locked.walk.client, locked.walk.name, "chat")
    code = "import socket; s = socket.socket(); s.settimeout(3); print(s.connect_ex(('192.0.2.1', 53)))"
    assert int(inside.run(locked.walk.client, worker, code)) != 0


def test_the_printed_file_asks_for_the_key_without_saying_it(locked: Locked, by_env: bool) -> None:
    text = locked.walk.file.read_text()
    assert ("${SAFE_KEY:?" in text) == by_env
    assert ("source: ./secrets/api-key" in text) == (not by_env)
    assert not re.search(r"docker\.sock|privileged|network_mode", text)


def test_an_endpoint_without_a_key_is_managed_by_nobody_either(client: DockerClient, tmp_path: Path) -> None:
    with walk(tmp_path, client) as made:
        made.write(model("chat", TINY))
        made.up().good()
        opened = Locked(made, "")
        assert {ask(opened, path, None, method) for method, path in CONTROL} <= {401, 403, 404, 405}
        assert ask(opened, "/v1/chat/completions", None, "POST") == 200


def test_a_key_that_the_router_cannot_read_keeps_it_from_starting_open(client: DockerClient, tmp_path: Path) -> None:
    with walk(tmp_path, client) as made:
        (made.folder / "key").write_text("secret-key-in-a-file")
        (made.folder / "key").chmod(0o600)
        made.write(model("chat", TINY), router=", api_key_file: ./key")
        said = made.up("--timeout", "60").refused(4)
        assert "cannot be read from its file" in said
        assert "secret-key-in-a-file" not in said
