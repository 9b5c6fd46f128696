"""What `doctor` asks Docker: on a machine without a card, which is an answer too."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from kit.compose.compose_cli import compose_version
from kit.diagnostics.docker_errors import explain
from kit.doctor import collect_docker
from kit.doctor.model import ImageState, OwnStack
from kit.errors import TargetError
from tests.docker.conftest import IMAGE, Project

if TYPE_CHECKING:
    from docker import DockerClient

pytestmark = pytest.mark.docker


def test_the_engine_says_what_it_is(client: DockerClient) -> None:
    seen = collect_docker.engine(client)
    assert seen.version == client.version()["Version"]
    assert seen.local
    assert seen.root.startswith("/")
    assert "runc" in seen.runtimes
    assert seen.memory is not None and seen.memory > 2**28
    assert seen.ahead is not None and abs(seen.ahead) < 5


def test_compose_is_asked_for_its_version() -> None:
    found = compose_version(os.environ)
    assert found is not None and found[0].isdigit()
    assert compose_version({"PATH": "/nowhere"}) is None


def test_an_image_is_here_or_not(client: DockerClient) -> None:
    seen = collect_docker.images(client, [IMAGE, "monogpu/never-built:1"])
    assert seen == {IMAGE: ImageState(here=True), "monogpu/never-built:1": ImageState(here=False, pullable=False)}


def test_an_image_that_its_registry_does_not_have_says_why(client: DockerClient) -> None:
    (seen,) = collect_docker.images(client, ["127.0.0.1:1/nobody/nothing:1"]).values()
    assert (seen.here, seen.pullable) == (False, False)
    assert seen.why == "the registry cannot be reached, or the connection to it broke"


@pytest.mark.parametrize("access", ["nvidia", "cdi"])
def test_a_container_that_asks_for_a_card_where_none_is_gets_dockers_words(client: DockerClient, access: str) -> None:
    seen = collect_docker.sight(client, IMAGE, access, "0")  # type: ignore[arg-type]
    assert seen.output == ""
    assert explain(seen.error) is not None, seen.error
    left = client.api.containers(all=True, filters={"name": "monogpu-doctor-"})
    assert left == []


def test_programs_are_looked_for_where_the_card_would_be(client: DockerClient) -> None:
    """Without the request for a card, which nobody here can serve."""
    words = [collect_docker.PROBE, "probe", "python3", "nvidia-cuda-mps-control"]
    printed = client.containers.run(
        IMAGE, words, entrypoint=["/bin/sh", "-c"], network_mode="none", remove=True, stderr=True
    )
    found = collect_docker.seen(IMAGE, printed.decode())
    assert found.missing == ("nvidia-cuda-mps-control",)
    assert "nvidia-smi: not found" in found.output


@pytest.mark.parametrize("access", ["nvidia", "cdi"])
def test_asking_for_programs_too_changes_nothing_where_no_card_is(client: DockerClient, access: str) -> None:
    plain, asked = (collect_docker.sight(client, IMAGE, access, "0", words) for words in ((), ("sh",)))  # type: ignore[arg-type]
    assert (plain.output, asked.output, asked.error) == ("", "", plain.error)


def test_what_runs_of_a_project_is_counted(projects: Callable[[], Project], client: DockerClient) -> None:
    project = projects()
    assert collect_docker.ours(client, project.name) == OwnStack()
    project.write('  idle:\n    image: "IMAGE"\n    command: [sleep, "60"]\n    init: true')
    project.up()
    seen = collect_docker.ours(client, project.name)
    assert seen.running
    assert len(seen.pids) >= 2
    assert not seen.downloads


def test_published_ports_are_listed_with_their_project(projects: Callable[[], Project], client: DockerClient) -> None:
    project = projects()
    project.write(
        '  idle:\n    image: "IMAGE"\n    command: [sleep, "60"]\n    init: true\n    ports: ["127.0.0.1::80"]'
    )
    project.up()
    assert project.name in {each.project for each in collect_docker.published(client)}


def test_an_engine_that_went_away_is_an_error_in_words() -> None:
    import docker

    with pytest.raises(TargetError, match="cannot be asked"):
        collect_docker.engine(docker.DockerClient(base_url="unix:///nowhere/docker.sock", version="1.41"))
