"""A stack that was started from an earlier compose file, with that file's labels and service names, is taken over.

tests/recorded/old-stack was printed by the kit before its labels and services had the names of today.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kit.compose import up
from tests.fakes.cardengine import card_engine
from tests.fakes.pretend.ledger import Card, create
from tests.support.paths import RECORDED
from tests.support.walks import Walk, driver

if TYPE_CHECKING:
    from docker import DockerClient

pytestmark = pytest.mark.docker

NAME, PORT = "monogpu-old", 31973  # as the recorded file has them: another name would make it a file edited by hand
DOWNLOADS = {"fetch-qwen-qwen2-5-0-5b-instruct", "fetch-huggingfacetb-smollm2-360m-instruct", "fetch-ollama"}
SERVICES = DOWNLOADS | {"chat", "rank", "ollama", "ollama-door", "router", "front"}


@pytest.fixture
def client() -> Iterator[DockerClient]:
    found = up.connect(os.environ)
    yield found
    found.close()


@pytest.fixture
def old(client: DockerClient, tmp_path: Path) -> Iterator[Walk]:
    """The earlier stack, as `docker compose up` starts it."""
    folder = tmp_path / NAME
    shutil.copytree(RECORDED / "old-stack", folder)
    with card_engine(Path("/tmp") / f"{NAME}.sock") as host:
        made = Walk(NAME, folder, host, client, PORT)
        create(made.card_file, Card())
        with driver(made.card_file, folder / "gpu.json"):
            try:
                made.compose("up", "--detach", "--wait", "--quiet-pull")
                yield made
            finally:
                made.vanish()


def volumes(stack: Walk) -> dict[str, str]:
    """Name -> when it was made."""
    found = stack.client.volumes.list(filters={"label": f"com.docker.compose.project={NAME}"})
    return {volume.name: volume.attrs["CreatedAt"] for volume in found}


def test_it_is_seen_taken_over_without_an_orphan_and_removed(old: Walk) -> None:
    assert set(old.containers()) == SERVICES
    seen = old.kit("status", "--json").good().json
    assert {each["service"] for each in seen["services"]} == SERVICES
    assert {name for each in seen["services"] for name in each["names"]} == {"chat", "code", "rank", "vectors"}
    kept = volumes(old)
    assert kept

    old.up().good()
    now = set(old.containers())
    assert now == {service["service"] for service in old.kit("status", "--json").good().json["services"]}
    assert now == set(old.compose("config", "--services").split())
    assert not now & (DOWNLOADS | {"front", "ollama-door"})
    assert volumes(old) == kept
    assert "orphan" not in old.compose("ps", "--all")
    again = old.up("--dry-run").good().out.splitlines()
    assert again and {line.split()[0] for line in again} == {"keep"}

    old.kit("down").good()
    assert old.containers() == {}
    assert volumes(old) == kept


def test_it_is_removed_without_being_taken_over(old: Walk) -> None:
    kept = volumes(old)
    old.kit("down").good()
    assert old.containers() == {}
    assert volumes(old) == kept
