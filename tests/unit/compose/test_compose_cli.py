"""What Docker Compose is asked, and what is made of its answers; its program is a function here."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from kit.compose import compose_cli, up
from kit.compose.compose_cli import CliResult, Run, compose_version, load, not_as_billed, run_compose
from kit.errors import TargetError

FILE = 'name: p\nservices:\n  chat:\n    image: x\n    environment: {KEY: "${KEY:?the key}"}\n'
CONFIG = {"name": "p", "services": {"chat": {"image": "x", "environment": {"KEY": "planted$$1"}}}}
UNSET = "error while interpolating services.chat.environment.KEY: required variable KEY is missing a value: the key"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / up.FILE).write_text(FILE)
    return tmp_path


def compose(
    config: object = CONFIG, *, version: str = "2.26.1-4", err: str = "", asked: list[str] | None = None
) -> Run:
    """A Compose that resolves every file to `config`, or refuses it with `err`; "" is a machine without one."""

    def run(words: Sequence[str], folder: Path, environ: Mapping[str, str], given: str) -> CliResult:
        if asked is not None:
            asked.append(" ".join(words) + (f" < {given}" if given else ""))
        if not version:
            return CliResult(1, err="docker: unknown command: docker compose")
        if "--short" in words:
            return CliResult(0, f"v{version}\n")
        if err:
            return CliResult(1, err=err)
        return CliResult(0, "chat abc\n" if "--hash" in words else json.dumps(config))

    return run


def refusal(act: Callable[[], object]) -> str:
    with pytest.raises(TargetError) as caught:
        act()
    return str(caught.value)


def test_a_project_comes_with_its_hashes_and_the_version(folder: Path) -> None:
    found = load(folder, {}, run=compose())
    assert (found.version, found.hashes) == ("2.26.1-4", {"chat": "abc"})
    assert found.project.service("chat").environment == ("KEY=planted$1",)
    assert found.project.files == (folder / up.FILE,)


def test_what_will_be_printed_takes_the_place_of_the_file(folder: Path) -> None:
    (folder / "compose.override.yaml").write_text("services: {}\n")
    asked: list[str] = []
    found = load(folder, {}, "name: p", run=compose(asked=asked))
    files = f"-f - -f {folder}/compose.override.yaml --project-directory {folder}"
    assert f"{files} config --format json < name: p" in asked
    assert f"{files} config < name: p" in asked
    assert f"-f - --project-directory {folder} config --hash * < {json.dumps(CONFIG)}" in asked
    assert found.project.files == (folder / up.FILE, folder / "compose.override.yaml")


def test_a_secret_that_is_not_set_is_named_with_its_words_at_its_line(folder: Path) -> None:
    said = refusal(lambda: up.read(folder, {}, compose(err=UNSET)))
    assert said.startswith(
        "docker-compose.yaml:5:19: services.chat.environment.KEY: KEY is not set; the key; export KEY=..."
    )


def test_a_key_that_is_not_translated_is_named_at_its_line(folder: Path) -> None:
    (folder / up.FILE).write_text("services:\n  chat:\n    image: x\n    build: .\n    links: [a]\n")
    built = {"name": "p", "services": {"chat": {"image": "x", "build": {"context": "."}, "links": ["a"]}}}
    said = refusal(lambda: up.read(folder, {}, compose(built)))
    assert "docker-compose.yaml:4:5: services.chat.build: `up` does not translate `build`; build the image" in said
    assert "docker-compose.yaml:5:5: services.chat.links: `up` does not translate `links`; put both on" in said


def test_a_folder_without_a_file_says_how_to_print_one(tmp_path: Path) -> None:
    said = refusal(lambda: up.read(tmp_path, {}, compose()))
    assert "docker-compose.yaml is not there; `monogpu-kit render` prints it" in said


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("", "the Docker Compose plug-in, which reads the compose file, is not installed; 2.20 or newer; "),
        ("2.19.1", "Docker Compose 2.19.1 is too old; 2.20 or newer; "),
        ("1.29.2", "Docker Compose 1.29.2 is too old; 2.20 or newer; "),
    ],
)
def test_without_compose_or_with_an_old_one_the_way_to_a_new_one_is_said(folder: Path, version: str, said: str) -> None:
    assert refusal(lambda: up.read(folder, {}, compose(version=version, err="x"))) == said + compose_cli.INSTALL
    assert refusal(lambda: load(folder, {}, run=compose(version=version))) == said + compose_cli.INSTALL


@pytest.mark.parametrize("version", ["2.20.0", "2.26.1-4", "2.40.3", "5.0.0", "dev"])
def test_a_new_one_will_do(folder: Path, version: str) -> None:
    assert load(folder, {}, run=compose(version=version)).version == version


def test_a_service_without_a_hash_is_not_started(folder: Path) -> None:
    two = {"name": "p", "services": {"chat": {"image": "x"}, "new": {"image": "x"}}}
    assert "has no hash of new" in refusal(lambda: load(folder, {}, run=compose(two)))


def program(folder: Path, text: str) -> dict[str, str]:
    """An environment whose `docker` is this shell script."""
    path = folder / "bin" / "docker"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return {"PATH": f"{path.parent}:/usr/bin:/bin"}


def test_compose_is_run_in_the_folder(folder: Path) -> None:
    answer = run_compose(["config"], folder, program(folder, 'pwd; cat; echo "$@" >&2; exit 3'), "given")
    assert (answer.code, answer.out, answer.err) == (3, f"{folder}\ngiven", "compose config\n")


def test_a_machine_without_docker_has_no_compose(folder: Path) -> None:
    assert compose_version({"PATH": str(folder)}) is None
    assert compose_version(program(folder, "exit 1")) is None
    assert compose_version(program(folder, "echo v2.26.1")) == "2.26.1"


def test_an_override_that_changes_what_is_billed_is_named(folder: Path) -> None:
    """Without values of variables: no secret needs to be set."""
    (folder / "compose.override.yaml").write_text("services: {}\n")
    asked: list[str] = []

    def run(words: Sequence[str], folder: Path, environ: Mapping[str, str], given: str) -> CliResult:
        asked.append(" ".join(words))
        command = ["b"] if "compose.override" in asked[-1] else ["a"]
        labels = {"monogpu.role": "worker"}
        services = {"chat": {"command": command, "labels": labels}, "ui": {"command": command}}
        return CliResult(0, json.dumps({"name": "p", "services": services}))

    assert not_as_billed(folder, {}, run=run) == {"chat": ("command",)}
    assert all("--no-interpolate" in words for words in asked) and len(asked) == 2


def test_one_file_alone_is_what_is_billed(folder: Path) -> None:
    asked: list[str] = []
    assert not_as_billed(folder, {}, run=compose(asked=asked)) == {}
    assert asked == []
