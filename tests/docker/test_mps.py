"""MPS with the real command line and Docker: pretend workers on a pretend card, and a pretend MPS daemon that they must
share a folder and /dev/shm with."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kit.compose import up
from kit.compose.reconcile import TOGETHER
from kit.engines import mps
from tests.support.modelfiles import tiny_files
from tests.support.walks import SMALL, TINY, Walk, model, soon, walk

if TYPE_CHECKING:
    from docker import DockerClient

pytestmark = pytest.mark.docker

MPS = "gpu: {mps: true}\n"
SERVICES = ("mps", "chat", "small", "router")
WORKERS = ["chat", "small"]


@pytest.fixture(scope="module")
def client() -> Iterator[DockerClient]:
    found = up.connect(os.environ)
    found.images.get("monogpu/pretend:1")
    yield found
    found.close()


@pytest.fixture(scope="module")
def running(client: DockerClient, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walk]:
    """Two workers that share the card, brought up from nothing. Every test leaves them healthy."""
    with walk(tmp_path_factory.mktemp("mps"), client) as made:
        write(made)
        made.up().good()
        yield made


def write(made: Walk, *more: str, gpu: str = MPS, env: str = "") -> None:
    made.write(model("chat", SMALL, *more, env=env), model("small", TINY, env=env), more=gpu)


def inspected(made: Walk, service: str) -> dict[str, Any]:
    found: dict[str, Any] = made.client.api.inspect_container(made.ids()[service])
    return found


def clients(made: Walk) -> list[str]:
    """Whom the daemon says that it serves."""
    container = made.client.containers.get(made.ids()["mps"])
    printed = container.exec_run(["/bin/sh", "-c", "echo ps | nvidia-cuda-mps-control"]).output.decode()
    return [line.split()[-1] for line in printed.splitlines() if line.startswith("0 0 ")]


def healthy(made: Walk) -> bool:
    found = made.containers()
    return all(name in found and found[name].health == "healthy" for name in SERVICES)


def started(made: Walk) -> list[str]:
    found = {name: each.started for name, each in made.containers().items() if name in SERVICES and each.started}
    return sorted(found, key=lambda name: found[name])


def test_the_daemon_is_healthy_before_the_first_worker_starts_and_all_workers_are_its_clients(running: Walk) -> None:
    assert healthy(running)
    assert started(running) == list(SERVICES)
    assert clients(running) == WORKERS
    log = running.kit("logs", "mps").good().out
    assert "Starting new server" in log and "user 0: small" in log


def test_daemon_and_workers_share_memory_and_nothing_else(running: Walk) -> None:
    seen = {name: inspected(running, name) for name in SERVICES}
    assert seen["mps"]["HostConfig"]["NetworkMode"] == "none"
    assert list(seen["mps"]["NetworkSettings"]["Networks"]) == ["none"]
    for name in ("mps", *WORKERS):
        host = seen[name]["HostConfig"]
        assert (host["IpcMode"], host["PidMode"], host["CapDrop"]) == ("private", "", ["ALL"])
        assert seen[name]["Config"]["User"] == mps.USER
        mounted = {mount["Destination"]: mount.get("Name") for mount in seen[name]["Mounts"]}
        assert mounted["/dev/shm"] == f"{running.name}_mps-memory"
    assert "/dev/shm" not in {mount["Destination"] for mount in seen["router"]["Mounts"]}
    options = running.client.volumes.get(f"{running.name}_mps-memory").attrs["Options"]
    assert options == {"type": "tmpfs", "device": "tmpfs", "o": "nosuid,nodev,noexec"}


def test_status_shows_the_daemon_and_a_second_up_touches_nothing(running: Walk) -> None:
    before = running.ids()
    services = {one["service"]: one for one in running.kit("status", "--json").good().json["services"]}
    assert (services["mps"]["role"], services["mps"]["health"], services["mps"]["well"]) == ("mps", "healthy", True)
    assert "mps" in running.kit("status").good().out
    report = running.up("--json").good().json
    assert {service["verb"] for service in report["services"]} == {"keep"}
    assert running.ids() == before


def test_an_edit_replaces_one_worker_and_leaves_the_daemon_and_its_other_client(running: Walk) -> None:
    before = running.ids()
    write(running, "context: 512")
    running.up().good()
    after = running.ids()
    assert [name for name in SERVICES if after[name] != before[name]] == ["chat"]
    assert clients(running) == WORKERS


def test_when_the_daemon_is_restarted_its_workers_end_come_back_and_join_it_again(running: Walk) -> None:
    """The folder still holds what the first one left, which would keep the next one away. A worker imports for seconds
    before it looks for the daemon, which is back by then."""
    write(running, env='PRETEND_IMPORTS: "5"')
    running.up().good()
    before = running.ids()
    running.client.containers.get(before["mps"]).restart(timeout=1)
    soon(lambda: healthy(running) and clients(running) == WORKERS)
    assert running.ids() == before
    assert min(running.containers()[name].restarts for name in WORKERS) >= 1
    running.up().good()
    assert running.ids() == before
    write(running)
    running.up().good()


def test_up_restarts_the_workers_in_turn_when_the_daemon_had_stopped(running: Walk) -> None:
    before = running.ids()
    running.client.containers.get(before["mps"]).stop(timeout=1)
    said = running.up().good().err
    assert "start mps: had stopped" in said
    for name in WORKERS:
        assert f"restart {name}: its dependency mps is being restarted" in said
    assert healthy(running) and clients(running) == WORKERS and running.ids() == before
    assert started(running) == ["router", "mps", *WORKERS]


def test_a_worker_starts_without_the_daemon_as_after_a_reboot_and_up_makes_it_a_client(running: Walk) -> None:
    before = running.ids()
    for name in reversed(SERVICES):
        running.client.containers.get(before[name]).stop(timeout=1)
    for name in ("router", *WORKERS, "mps"):
        time.sleep(TOGETHER + 0.5)
        running.client.containers.get(before[name]).start()
    soon(lambda: healthy(running))
    assert clients(running) == []
    said = running.up().good().err
    assert "restart chat: was started before its dependency mps" in said
    assert running.ids() == before and clients(running) == WORKERS


def test_compose_takes_over_and_gives_back(running: Walk) -> None:
    before = running.ids()
    running.compose("up", "-d", "--wait")
    assert running.ids() == before
    running.compose("restart", "mps")
    soon(lambda: healthy(running) and clients(running) == WORKERS)
    running.compose("down")
    assert running.ids() == {}
    running.compose("up", "-d", "--wait")
    theirs = running.ids()
    assert started(running) == list(SERVICES)
    assert clients(running) == WORKERS
    running.up().good()
    assert running.ids() == theirs


def test_mps_can_be_switched_off_and_on_again(running: Walk) -> None:
    write(running, gpu="")
    running.up("--prune-volumes").good()
    assert "mps" not in running.ids()
    assert inspected(running, "chat")["HostConfig"]["ShmSize"] == 2**30
    assert f"{running.name}_mps-memory" not in {volume.name for volume in running.client.volumes.list()}
    write(running)
    running.up().good()
    assert clients(running) == WORKERS


def test_down_leaves_nothing_and_goes_from_the_router_to_the_daemon(running: Walk) -> None:
    said = running.kit("down").good().err
    order = [name for name in SERVICES if f"{running.name}-{name}-1" in said]
    assert sorted(order, key=lambda name: said.index(f"{running.name}-{name}-1"), reverse=True) == list(SERVICES)
    assert running.ids() == {}
    running.up().good()


def test_a_daemon_that_cannot_start_stops_the_walk_before_any_worker(client: DockerClient, tmp_path: Path) -> None:
    with walk(tmp_path, client) as made:
        folder = made.folder / "tiny"
        folder.mkdir()
        for name, content in tiny_files().items():
            (folder / name).write_bytes(content)
        made.write(model("chat", "./tiny", "context: 256", image="monogpu/base:1"), more=MPS)
        said = made.up().refused(4)
        assert "the container has no nvidia-cuda-mps-control" in said
        assert "nvidia-ctk cdi generate" in said
        assert "chat" not in made.ids()
