"""What a project's own workers hold is nobody else's: it is planned anew as if they were gone, while they run."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kit import gpu
from kit.compose import up
from kit.compose.stats import apart_from
from kit.gpu import ask_host
from kit.units import GIB, MIB
from tests.fakes.pretend.ledger import foreign
from tests.support.paths import FAKES
from tests.support.walks import ROOT, SMALL, TINY, Said, Walk, model, soon, walk

if TYPE_CHECKING:
    from docker import DockerClient

pytestmark = pytest.mark.docker
OWN = "without what this project's own workers hold: "


@pytest.fixture(scope="module")
def client() -> Iterator[DockerClient]:
    found = up.connect(os.environ)
    found.images.get("monogpu/pretend:1")
    yield found
    found.close()


@pytest.fixture(scope="module")
def running(client: DockerClient, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walk]:
    """Two models that fill the card, and a driver that tells of them."""
    with walk(tmp_path_factory.mktemp("own"), client) as made:
        made.environ |= {
            "PYTHONPATH": f"{FAKES / 'standin'}:{ROOT}",
            "PRETEND_GPU_FILE": str(made.folder / "gpu.json"),
        }
        made.write(model("chat", SMALL, "memory: 8GiB"), model("embed", TINY, "task: embed", "memory: 6GiB"))
        made.kit("up", "--gpu", "live", "--no-verify").good()
        yield made


def planned(at: Walk) -> Any:
    return at.kit("plan", "--gpu", "live", "--json").good().json


def without_docker(at: Walk) -> Said:
    host, at.host = at.host, "unix:///nowhere/docker.sock"
    try:
        return at.kit("plan", "--gpu", "live", "--json")
    finally:
        at.host = host


def test_the_plan_of_what_runs_fits_and_says_whose_memory_it_did_not_count(running: Walk) -> None:
    seen = planned(running)
    assert seen["fits"] and seen["gpu"]["free_bytes"] == seen["gpu"]["total_bytes"] and not seen["gpu"]["processes"]
    assert OWN in seen["gpu"]["origin"]
    words = " ".join(running.kit("plan", "--gpu", "live").good().out.split())
    assert OWN in words and " GiB" in words.partition(OWN)[2][:12]


def test_the_file_of_what_runs_is_what_the_manifest_says(running: Walk) -> None:
    assert "is what the manifest says" in running.kit("render", "--gpu", "live", "--check").good().out


def test_a_stranger_on_the_card_counts_all_the_same(running: Walk) -> None:
    foreign(running.card_file, 4242, "Xorg", 200 * MIB)
    try:
        soon(lambda: "Xorg" in (running.folder / "gpu.json").read_text())
        seen = planned(running)["gpu"]
    finally:
        foreign(running.card_file, 4242, "Xorg", 0)
    assert seen["processes"] == [{"pid": 4242, "name": "Xorg", "bytes": 200 * MIB}]
    assert seen["free_bytes"] == seen["total_bytes"] - 200 * MIB


def test_without_docker_nobody_knows_and_all_that_is_held_counts(running: Walk) -> None:
    said = without_docker(running)
    assert said.code == 3 and "own workers" not in said.out + said.err and "Docker" not in said.err


@pytest.fixture
def on_the_cpu(client: DockerClient, tmp_path: Path) -> Iterator[Walk]:
    with walk(tmp_path, client) as made:
        yield made


def written(at: Walk, *more: str) -> None:
    """Two models in the host's memory, as much as is free of it."""
    parts = (
        model("chat", SMALL, *more, "memory: 3GiB", env=CPU),
        model("embed", TINY, "task: embed", "memory: 3GiB", env=CPU),
    )
    at.write(*parts, more="gpu: {device: none}\n")


CPU = "PRETEND_DEVICE: cpu"


def test_a_stack_in_the_hosts_memory_is_planned_anew_while_it_runs(on_the_cpu: Walk) -> None:
    """`up` after an edit plans with what is free now and what its own workers hold; who did not change serves on."""
    written(on_the_cpu)
    on_the_cpu.kit("up", "--no-verify").good()
    before = on_the_cpu.ids()
    seen = on_the_cpu.kit("plan", "--json").good().json
    assert OWN in seen["gpu"]["origin"]
    written(on_the_cpu, "context: 512")
    on_the_cpu.kit("up", "--no-verify").good()
    assert {name for name, each in on_the_cpu.ids().items() if before.get(name) != each} == {"chat"}


def test_what_containers_hold_of_the_hosts_memory_is_counted_as_free(client: DockerClient, on_the_cpu: Walk) -> None:
    fill = (
        "import time; kept = bytearray(300 * 1024 * 1024); kept[::4096] = b'x' * (len(kept) // 4096); time.sleep(300)"
    )
    labels = {"com.docker.compose.project": on_the_cpu.name, "com.docker.compose.oneoff": "False"}
    client.containers.run(
        "monogpu/base:1", ["python3", "-c", fill], labels=labels, network_mode="none", detach=True, name=on_the_cpu.name
    )
    card = gpu.host(64 * GIB, 8 * GIB, "asked")
    soon(lambda: apart_from(client, on_the_cpu.name, card).free_bytes > 8 * GIB + 290 * MIB)
    found = apart_from(client, on_the_cpu.name, card)
    assert found.free_bytes < 8 * GIB + 400 * MIB
    assert re.fullmatch(rf"asked, {OWN}0\.(29|3\d) GiB", found.origin)
    assert apart_from(client, on_the_cpu.name, gpu.host(8 * GIB, 8 * GIB, "")).free_bytes == 8 * GIB
    assert apart_from(client, "nobody", card) == card
    assert ask_host().kind == "host"
