"""Projects on a real Engine: each in a folder and under a name of its own, and gone when its test is over."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from kit.compose import up as compose
from kit.compose.events import Event
from kit.compose.observe import containers
from kit.compose.observed import ContainerState
from kit.compose.wait import Clock

if TYPE_CHECKING:
    from docker import DockerClient

QUICK = Clock(pause=0.1)
IMAGE = "monogpu/base:1"  # scripts/build-images makes it: a small Debian with python3


@dataclass
class Project:
    """A compose project that a test drives."""

    name: str
    folder: Path
    client: DockerClient
    environ: dict[str, str]
    events: list[Event] = field(default_factory=list)

    def write(self, services: str, more: str = "") -> None:
        """`services` are indented by two; the image is put in for IMAGE."""
        text = f"name: {self.name}\nservices:\n{services}\n{more}".replace("IMAGE", IMAGE)
        (self.folder / compose.FILE).write_text(text)

    def up(self, **more: Any) -> compose.UpResult:
        return compose.up(self.folder, self.client, self.environ, self.events.append, clock=QUICK, **more)

    def planned(self) -> list[str]:
        return [str(op) for op in self.up(dry_run=True).operations]

    def compose(self, *words: str) -> str:
        """`docker compose` itself, in the project's folder."""
        done = subprocess.run(
            ["docker", "compose", *words],
            cwd=self.folder,
            env=self.environ,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def containers(self) -> dict[str, ContainerState]:
        return {each.service: each for each in containers(self.client, self.name)}

    def ids(self) -> dict[str, str]:
        return {name: each.id for name, each in self.containers().items()}

    def inspect(self, service: str) -> dict[str, Any]:
        attrs: dict[str, Any] = self.client.api.inspect_container(f"{self.name}-{service}-1")
        return attrs


@pytest.fixture(scope="session")
def client() -> Iterator[DockerClient]:
    found = compose.connect(os.environ)
    found.images.get(IMAGE)
    yield found
    found.close()


@pytest.fixture
def projects(client: DockerClient, tmp_path: Path) -> Iterator[Callable[[], Project]]:
    """Makes projects."""
    made: list[Project] = []

    def make() -> Project:
        name = f"mgk-t-{uuid4().hex[:8]}"
        folder = tmp_path / name
        folder.mkdir()
        made.append(Project(name, folder, client, {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}))
        return made[-1]

    yield make
    for project in made:
        for container in project.containers().values():
            client.api.remove_container(container.id, force=True)
        compose.down(project.name, client, volumes=True)


@pytest.fixture
def project(projects: Callable[[], Project]) -> Project:
    return projects()
