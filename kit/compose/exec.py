"""Programs run inside a worker's container: the only way to a port that nothing publishes."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from kit.compose.client import translate_errors
from kit.compose.observe import containers
from kit.compose.observed import ContainerState
from kit.errors import Problem, TargetError
from kit.stack.labels import port_of

if TYPE_CHECKING:
    from docker import DockerClient

# argv: port, path. Prints the body.
_GET = """
import sys, urllib.request
print(urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}{sys.argv[2]}", timeout=20).read().decode())
"""

# Prints the body of GET /workers.
_WORKERS = """
import urllib.request
key = open("/tmp/control-key").read()
ask = urllib.request.Request("http://127.0.0.1:30000/workers", headers={"Authorization": "Bearer " + key})
print(urllib.request.urlopen(ask, timeout=20).read().decode())
"""

# argv: port, model, task, threads, seconds, words. Every thread asks again until the time is over; prints counts.
_BURST = """
import json, random, sys, threading, time, urllib.request
port, model, task, threads, seconds, words = sys.argv[1], sys.argv[2], sys.argv[3], *map(int, sys.argv[4:7])
done, failed, end = [], [], time.monotonic() + seconds
def body(n):
    text = " ".join(random.choice(["red", "green", "blue", "seven", "eight", "house"]) for _ in range(n))
    if task != "generate":
        return "/v1/embeddings", {"model": model, "input": text}
    return "/v1/completions", {"model": model, "prompt": text, "max_tokens": 48, "ignore_eos": True,
                               "temperature": 1, "top_p": 0.9, "top_k": 40, "logprobs": 3}
def ask():
    most = words
    while time.monotonic() < end:
        path, data = body(most if random.random() < 0.5 else max(most // 16, 1))
        try:
            request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", json.dumps(data).encode(),
                                             {"Content-Type": "application/json"})
            urllib.request.urlopen(request, timeout=120).read()
            done.append(1)
        except Exception as error:
            said = getattr(error, "read", lambda: b"")()
            if b"maximum context length" in said and most > 8:
                most = most * 3 // 4  # this tokenizer makes more tokens of a word
                continue
            failed.append(f"{error}: {said[:200]!r}")
            time.sleep(0.5)
all = [threading.Thread(target=ask) for _ in range(threads)]
[t.start() for t in all]; [t.join() for t in all]
print(json.dumps({"done": len(done), "failed": len(failed), "first_failure": failed[0] if failed else None}))
"""


def run(client: DockerClient, container: str, code: str, *args: str) -> str:
    """The output of a Python program in a container. Raises TargetError with it when the program fails."""
    return _output(client, container, ["python3", "-c", code, *args])


def _output(client: DockerClient, container: str, argv: list[str]) -> str:
    with translate_errors(f"a program cannot be run in {container}"):
        made = client.api.exec_create(container, argv)
        text = bytes(client.api.exec_start(made["Id"])).decode(errors="replace")
        code_ = client.api.exec_inspect(made["Id"])["ExitCode"]
    if code_:
        raise TargetError(Problem(f"a program in {container} failed with exit code {code_}"), evidence=text[-2000:])
    return text


def shell(client: DockerClient, container: str, script: str, *args: str) -> str:
    """The output of a shell script, for images without Python. Raises TargetError when it fails."""
    return _output(client, container, ["sh", "-c", script, "sh", *args])


def get(client: DockerClient, container: str, port: int, path: str) -> str:
    """The body that a port inside the container answers."""
    return run(client, container, _GET, str(port), path)


def workers(client: DockerClient, router: str) -> str:
    """SMG's answer to GET /workers: its control plane answers inside its own container alone (smg_launch.py)."""
    return run(client, router, _WORKERS)


def burst(
    client: DockerClient, worker: ContainerState, model: str, task: str, threads: int, seconds: int, words: int
) -> dict[str, Any]:
    """Load from inside, to see how far a worker's memory grows: `{"done", "failed", "first_failure"}`."""
    port = port_of(worker.labels or {})
    printed = run(client, worker.id, _BURST, str(port), model, task, str(threads), str(seconds), str(words))
    counts: dict[str, Any] = json.loads(printed.strip().splitlines()[-1])
    return counts


def pids(client: DockerClient, project: str, services: Collection[str] | None = None) -> dict[str, list[int]]:
    """Service -> the pids, as the host counts them, of its running processes; of all services, or of these."""
    from docker.errors import APIError

    found: dict[str, list[int]] = {}
    for container in containers(client, project):
        if container.status != "running" or (services is not None and container.service not in services):
            continue
        try:
            top = client.api.top(container.id, "-eo pid")
        except APIError:
            continue  # it ended since it was listed
        found[container.service] = [int(row[0]) for row in top["Processes"] or ()]
    return found


def container_of(client: DockerClient, project: str, service: str) -> str:
    """The id of a service's running container. Raises TargetError."""
    return running(client, project, service).id


def running(client: DockerClient, project: str, service: str) -> ContainerState:
    """A service's running container. Raises TargetError."""
    for found in containers(client, project):
        if found.service == service and found.status == "running":
            return found
    raise TargetError(Problem(f"{service} does not run", "`monogpu-kit status` shows what does"))
