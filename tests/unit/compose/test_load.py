"""The compose file of a folder, and what Compose says about it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kit.compose import up
from kit.compose.client import Compose, ask_compose
from kit.errors import TargetError

FILE = 'name: p\nservices: {chat: {image: "${IMAGE:-x:1}", environment: {KEY: "${KEY:?the key}"}}}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / up.FILE).write_text(FILE)
    return tmp_path


def refusal(folder: Path, environ: dict[str, str]) -> str:
    with pytest.raises(TargetError) as caught:
        up.read(folder, environ)
    return str(caught.value)


def test_variables_come_from_the_environment_and_from_the_file_beside_it(folder: Path) -> None:
    (folder / ".env").write_text("IMAGE=beside:1\nKEY=beside\n")
    chat = up.read(folder, {"KEY": "outside"}).service("chat")
    assert (chat.image, chat.environment) == ("beside:1", ("KEY=outside",))


def test_a_secret_that_is_not_set_is_named_with_its_words(folder: Path) -> None:
    assert "KEY is not set; the key; export KEY=..." in refusal(folder, {})


def test_the_project_is_known_without_its_secrets(folder: Path) -> None:
    assert up.project_name(folder, {}) == "p"


def test_a_folder_without_a_file_says_how_to_print_one(tmp_path: Path) -> None:
    assert "docker-compose.yaml is not there; `monogpu-kit render` prints it" in refusal(tmp_path, {})


def test_a_file_that_is_no_text_is_said(folder: Path) -> None:
    (folder / up.FILE).write_bytes(b"name: \xff\xfe")
    assert "cannot be read" in refusal(folder, {"KEY": "k"})


def test_a_broken_env_file_is_said(folder: Path) -> None:
    (folder / ".env").write_text("what is this\n")
    assert ".env cannot be read; line 1 is not NAME=value" in refusal(folder, {"KEY": "k"})


@pytest.mark.parametrize("name", up.OVERRIDES)
def test_an_override_beside_it_that_compose_would_read_is_not_passed_over(name: str, folder: Path) -> None:
    (folder / name).write_text("services: {}\n")
    assert f"{name} lies beside docker-compose.yaml" in refusal(folder, {"KEY": "k"})


def test_the_file_is_labelled_as_compose_labels_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "link").symlink_to(folder)
    monkeypatch.chdir(folder)
    assert up.read(Path("link"), {"KEY": "k"}).file == folder / "link" / up.FILE
    assert up.read(Path("link/.."), {"KEY": "k"}).file == folder / up.FILE


def program(folder: Path, text: str) -> dict[str, str]:
    """An environment whose `docker` is this shell script."""
    path = folder / "bin" / "docker"
    path.parent.mkdir()
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return {"PATH": f"{path.parent}:{os.environ['PATH']}"}


def test_compose_is_asked_for_its_version_and_hashes(folder: Path) -> None:
    answers = 'case "$*" in *--short) echo v2.26.1;; *config*) echo "chat abc"; echo "router def";; esac'
    said = ask_compose(folder / up.FILE, "", program(folder, answers))
    assert said == Compose("2.26.1", {"chat": "abc", "router": "def"})


def test_a_file_that_compose_refuses_has_no_hashes(folder: Path) -> None:
    answers = 'case "$*" in *--short) echo 2.26.1;; *) echo bad >&2; exit 15;; esac'
    assert ask_compose(folder / up.FILE, "", program(folder, answers)) == Compose("2.26.1")


def test_a_machine_without_compose_has_none(folder: Path, tmp_path: Path) -> None:
    assert ask_compose(folder / up.FILE, "", {"PATH": str(tmp_path)}) == Compose()
    assert ask_compose(folder / up.FILE, "", program(folder, "exit 1")) == Compose()
