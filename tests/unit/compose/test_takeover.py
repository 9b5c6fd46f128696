"""A stack of an earlier compose file, with that file's service names and labels, against the file of today."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kit.compose import create_request
from kit.compose.observed import ContainerState, NetworkState, ObservedState
from kit.compose.operation import Operation
from kit.compose.reconcile import reconcile
from kit.compose.spec import ProjectSpec
from tests.support.composefiles import printed as project
from tests.support.paths import RECORDED

FILE = RECORDED / "old-stack" / "docker-compose.yaml"
TEXT = FILE.read_text()
OLD = project(TEXT, FILE, {})
NEW_NAMES = (
    ('"fetch-', '"download-'), ('"front"', '"haproxy"'), ('"ollama-door"', '"ollama-proxy"'),
    ('"monogpu.role": "fetch"', '"monogpu.role": "download"'), ('"monogpu.role": "door"', '"monogpu.role": "proxy"'),
)  # fmt: skip
WORKERS = ("chat", "rank", "ollama")
GONE = tuple(service.name for service in OLD.services if service.name not in (*WORKERS, "router"))


def renamed(*more: tuple[str, str]) -> ProjectSpec:
    """The old file with the names of today."""
    text = TEXT
    for old, new in (*NEW_NAMES, *more):
        assert old in text
        text = text.replace(old, new)
    return project(text, FILE, {})


def running() -> ObservedState:
    """All services of the old file, as they were started from it; downloads have ended."""
    images = {service.image: f"sha256:{service.image}" for service in OLD.services}
    return ObservedState(
        tuple(_container(service.name, images) for service in OLD.services),
        tuple(NetworkState(each.name, each.internal, OLD.name, each.options) for each in OLD.networks),
        frozenset(each.name for each in OLD.volumes),
        images,
        owned=frozenset(each.name for each in OLD.volumes) | {"monogpu-old_compiled"},
    )


def _container(name: str, images: dict[str, str]) -> ContainerState:
    service = OLD.service(name)
    labels = create_request.container_labels(OLD, service, images[service.image], "", "2.26.1")
    done = "service_completed_successfully" in OLD.awaited(name)
    return ContainerState(
        f"id-{name}", service.container, name, 1, images[service.image],
        status="exited" if done else "running",
        health=None if done else "healthy",
        labels={**dict(service.labels), **labels},
        networks=frozenset(OLD.network(use.network).name for use in service.networks),
    )  # fmt: skip


def decided(new: ProjectSpec) -> tuple[Operation, ...]:
    return reconcile(new, running(), {})


def test_the_old_file_itself_changes_nothing() -> None:
    assert {op.verb for op in decided(OLD)} == {"keep"}


def test_services_under_new_names_replace_the_old_ones_and_workers_stay() -> None:
    said = [str(op) for op in decided(renamed())]
    removed = [f"remove monogpu-old-{name}-1: is no longer in the file" for name in GONE]
    assert set(said[: len(GONE)]) == set(removed)
    assert said[0] == "remove monogpu-old-front-1: is no longer in the file"
    assert set(said[len(GONE) :]) == {
        "create download-qwen-qwen2-5-0-5b-instruct: is not there yet",
        "create download-huggingfacetb-smollm2-360m-instruct: is not there yet",
        "create download-ollama: is not there yet",
        *(f"keep {name}: unchanged" for name in WORKERS),
        "create ollama-proxy: is not there yet",
        "keep router: unchanged",
        "create haproxy: is not there yet",
    }


def test_workers_whose_labels_changed_are_drained_and_replaced_in_turn() -> None:
    said = [f"{op.verb} {op.name}" for op in decided(renamed(('"monogpu.task"', '"monogpu.tasks"')))]
    in_turn = [f"{verb} {name}" for name in WORKERS for verb in ("drain", "replace")]
    assert [line for line in said if line.split()[1] in WORKERS] == in_turn


@pytest.mark.parametrize("more", [(), (('"monogpu.task"', '"monogpu.tasks"'),)])
def test_no_orphan_is_left_and_no_volume_is_lost(more: tuple[tuple[str, str], ...]) -> None:
    new = renamed(*more)
    there = {container.name for container in running().containers}
    for op in decided(new):
        there -= {op.name} if op.verb == "remove" else set()
        there |= {new.service(op.name).container} if op.verb in ("create", "replace") else set()
    assert there == {service.container for service in new.services}
    assert not [op for op in decided(new) if "volume" in op.verb or "network" in op.verb]


def test_a_service_that_was_added_by_hand_goes_with_its_lines() -> None:
    found = running()
    mine = replace(found.containers[-1], id="id-mine", name="monogpu-old-mine-1", service="mine", labels={})
    operations = reconcile(renamed(), replace(found, containers=(*found.containers, mine)), {})
    assert "remove monogpu-old-mine-1: is no longer in the file" in map(str, operations)
