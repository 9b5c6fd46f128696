"""Containers that send load: each of a worker's own image, with what that worker reads, on the workers' network.

They are made beside the project, under a label of their own: `up`, `down` and Compose do not see them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kit.bench.load import tokenizer_of
from kit.compose.client import translate_errors
from kit.compose.exec import container_of, run
from kit.compose.ps import status
from kit.compose.stats import cpu
from kit.errors import Problem, TargetError
from kit.stack.labels import port_of
from kit.stack.model import WORKERS

if TYPE_CHECKING:
    from docker import DockerClient

LOADS = "monogpu.load"  # the label; its value is the project's name
READY_SECONDS = 300
# Variables that a load has no use for: secrets, by their names, and the card.
_LEFT_OUT = re.compile("^([^=]*(TOKEN|KEY|SECRET|PASSWORD)|NVIDIA_VISIBLE_DEVICES)=")
# argv: one line of JSON for the socket. Prints the answer as it arrives.
_CLIENT = """
import socket, sys
s = socket.socket(socket.AF_UNIX); s.connect("/tmp/load.sock"); s.sendall(sys.argv[1].encode() + b"\\n")
while True:
    b = s.recv(65536)
    if not b: break
    sys.stdout.buffer.write(b); sys.stdout.buffer.flush()
"""
_WAIT = """
import pathlib, sys, time
end = time.monotonic() + float(sys.argv[1])
while not pathlib.Path("/tmp/load.sock").exists():
    if time.monotonic() > end: sys.exit("not ready")
    time.sleep(0.1)
"""


@dataclass(frozen=True)
class Sent:
    """What one `vllm bench serve` left: its JSON, how many seconds it took with its preparation, and the share of a
    core that it used, sampled `every` so many seconds."""

    result: str
    seconds: float
    cpu: tuple[float, ...]
    every: float


Print = Callable[[str], None]


@contextmanager
def loaders(client: DockerClient, project: str) -> Iterator[Loaders]:
    """The project's load containers, created when first used and removed at the end, whatever happens."""
    remove_all(client, project)
    try:
        yield Loaders(client, project)
    finally:
        remove_all(client, project)


def remove_all(client: DockerClient, project: str) -> None:
    """Remove the project's load containers, also those that an earlier run left."""
    with translate_errors("the load containers cannot be removed"):
        for left in client.api.containers(all=True, filters={"label": f"{LOADS}={project}"}):
            client.api.remove_container(left["Id"], force=True)


class Loaders:
    """A load container for each service; all load is sent through them."""

    def __init__(self, client: DockerClient, project: str) -> None:
        self.client, self.project = client, project
        self.made: dict[str, str] = {}
        self.ready: set[str] = set()

    def prepare(self, service: str) -> None:
        """Create the service's load container unless it exists, join it to the network, and wait until vLLM is
        imported. Raises TargetError."""
        network = f"{self.project}_{WORKERS}"
        with translate_errors(f"load for {service} cannot be prepared"):
            if service not in self.made:
                self.made[service] = self._make(service, network)
            if network not in self.client.api.inspect_container(self.made[service])["NetworkSettings"]["Networks"]:
                self.client.api.connect_container_to_network(self.made[service], network)
        if service not in self.ready:
            self._wait(service)
            self.ready.add(service)

    def leave(self) -> None:
        """Leave the network, so that the stack can be removed; the containers stay."""
        from docker.errors import APIError

        with translate_errors("the load containers cannot leave the network"):
            for container in self.made.values():
                with suppress(APIError):  # it was not joined
                    self.client.api.disconnect_container_from_network(
                        container, f"{self.project}_{WORKERS}", force=True
                    )

    def send(self, service: str, argv: tuple[str, ...], env: Mapping[str, str], show: Print) -> Sent:
        """Run `vllm ARGV`; `show` gets its output as it arrives. Raises TargetError when it fails."""
        result = f"{argv[argv.index('--result-dir') + 1]}/{argv[argv.index('--result-filename') + 1]}"
        request = json.dumps({"argv": argv, "env": dict(env), "result": result})
        text = ""
        with translate_errors(f"load for {service} cannot be sent"):
            made = self.client.api.exec_create(self.made[service], ["python3", "-c", _CLIENT, request])
            for chunk in self.client.api.exec_start(made["Id"], stream=True):
                text += (part := bytes(chunk).decode(errors="replace"))
                show(part)
        return _sent(service, text)

    def worker(self, service: str) -> tuple[str, str, bool]:
        """The address of a running worker, where its tokenizer is, and whether it brings code along."""
        with translate_errors(f"how {service} was started cannot be read"):
            config = self.client.api.inspect_container(container_of(self.client, self.project, service))["Config"]
        environ = dict(text.split("=", 1) for text in config["Env"] if "=" in text)
        return f"http://{service}:{port_of(config['Labels'])}", *tokenizer_of(config["Cmd"] or [""], environ)

    def router_url(self) -> str:
        """The router's address on the workers' network: the service that is published."""
        for one in status(self.project, self.client):
            if one.role == "router" and one.ports and one.status == "running":
                inside = self.client.api.inspect_container(one.id)["HostConfig"]["PortBindings"]
                return f"http://{one.service}:{next(iter(inside)).partition('/')[0]}"
        raise TargetError(Problem(f"the router of {self.project} does not run", "`monogpu-kit up` starts it"))

    def cpu(self) -> dict[str, float]:
        """Service of the stack -> the seconds of CPU that it has used. Raises TargetError."""
        return cpu(self.client, self.project)

    def _make(self, service: str, network: str) -> str:
        worker = self.client.api.inspect_container(container_of(self.client, self.project, service))
        body = body_of(worker, self.project, network)
        made = self.client.api.create_container_from_config(body, f"{self.project}-load-{service}")  # type: ignore[no-untyped-call]
        self.client.api.start(made["Id"])
        return str(made["Id"])

    def _wait(self, service: str) -> None:
        try:
            run(self.client, self.made[service], _WAIT, str(READY_SECONDS))
        except TargetError:
            problem = Problem(f"`vllm bench` of {service}'s image does not start", "its last lines:")
            with translate_errors(f"load for {service} cannot be prepared"):
                log = self.client.api.logs(self.made[service], tail=20).decode(errors="replace")
            raise TargetError(problem, evidence=log) from None


def body_of(worker: Mapping[str, Any], project: str, network: str) -> dict[str, Any]:
    """The Engine's request for a load container: the worker's image, user and environment, and what it mounts read
    only; without the card, the folders that it writes, and secrets: a tokenizer is read offline. `worker` is what
    `docker inspect` shows of it."""
    config, host = worker["Config"], worker["HostConfig"]
    mounts = [
        {"Type": m["Type"], "Source": m.get("Name") or m["Source"], "Target": m["Destination"], "ReadOnly": True}
        for m in worker["Mounts"]
        if not m["RW"]
    ]
    return {
        "Image": worker["Image"],
        "Entrypoint": ["python3", "-u", "-c", program()],
        "Cmd": [],
        "Env": [
            *(one for one in config["Env"] if not _LEFT_OUT.search(one)),
            "NVIDIA_VISIBLE_DEVICES=void",  # the image may ask for all cards, and Docker's default runtime may listen
            "OMP_NUM_THREADS=1",
            "TOKENIZERS_PARALLELISM=false",
        ],
        "User": config["User"],
        "Labels": {LOADS: project},
        "HostConfig": {
            "Init": True,
            "CapDrop": ["ALL"],
            "SecurityOpt": host["SecurityOpt"] or [],
            "ReadonlyRootfs": host["ReadonlyRootfs"],
            "Tmpfs": host["Tmpfs"] or {"/tmp": "exec"},
            "Mounts": mounts,
            "NetworkMode": network,
        },
    }


def digests(client: DockerClient, images: Iterable[str]) -> dict[str, str]:
    """Image -> the registry's digest, or the id of one that was built here; a missing one is left out."""
    from docker.errors import ImageNotFound

    found: dict[str, str] = {}
    for name in sorted(set(images)):
        with suppress(ImageNotFound):
            attrs: dict[str, Any] = client.images.get(name).attrs
            found[name] = (attrs.get("RepoDigests") or [attrs["Id"]])[0]
    return found


def program() -> str:
    """The source of the program in a load container."""
    return Path(__file__).with_name("load_server.py").read_text(encoding="utf-8")


def _sent(service: str, text: str) -> Sent:
    """The last line is load_server's own."""
    printed, _, last = text.rstrip("\n").rpartition("\n")
    try:
        end = json.loads(last)
    except ValueError:
        raise TargetError(Problem(f"the load for {service} ended early"), evidence=text[-2000:]) from None
    if end["exit_code"] or not end["result"]:
        problem = Problem(f"`vllm bench serve` for {service} ended with exit code {end['exit_code']}")
        raise TargetError(problem, evidence=printed[-2000:])
    return Sent(end["result"], end["seconds"], tuple(end["cpu"]), end["every"])
