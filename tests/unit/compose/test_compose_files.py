"""Which files Compose reads in a folder, and the project's name: without Compose."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.compose.compose_files import FILE, FIRST, OVERRIDES, compose_files, dotenv, file_of, project_name
from kit.errors import TargetError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Called `assistants`, with a compose file."""
    made = tmp_path / "assistants"
    made.mkdir()
    (made / FILE).write_text("name: p\nservices: {chat: {image: x}}\n")
    return made


def refusal(folder: Path, **environ: str) -> str:
    with pytest.raises(TargetError) as caught:
        compose_files(folder, environ)
    return str(caught.value)


def test_alone_the_file_is_all(folder: Path) -> None:
    assert compose_files(folder, {}) == (folder / FILE,)


@pytest.mark.parametrize("name", OVERRIDES)
def test_an_override_beside_it_is_read_as_well(name: str, folder: Path) -> None:
    (folder / name).write_text("services: {}\n")
    assert compose_files(folder, {}) == (folder / FILE, folder / name)


def test_of_several_overrides_compose_takes_the_first(folder: Path) -> None:
    for name in OVERRIDES:
        (folder / name).write_text("services: {}\n")
    assert compose_files(folder, {}) == (folder / FILE, folder / "compose.override.yml")


@pytest.mark.parametrize("name", FIRST)
def test_a_file_that_compose_reads_instead_is_named(name: str, folder: Path) -> None:
    (folder / name).write_text("services: {}\n")
    assert refusal(folder).startswith(f"{name} lies beside docker-compose.yaml, and Docker Compose reads it instead")


def test_compose_file_lists_the_files(folder: Path) -> None:
    (folder / OVERRIDES[0]).write_text("services: {}\n")
    listed = compose_files(folder, {"COMPOSE_FILE": "docker-compose.yaml:more/ui.yaml:/abs/x.yaml"})
    assert listed == (folder / FILE, folder / "more/ui.yaml", Path("/abs/x.yaml"))
    comma = {"COMPOSE_FILE": "docker-compose.yaml,ui.yaml", "COMPOSE_PATH_SEPARATOR": ","}
    assert compose_files(folder, comma) == (folder / FILE, folder / "ui.yaml")


def test_the_environment_overrules_the_file_beside_it(folder: Path) -> None:
    (folder / ".env").write_text("COMPOSE_FILE=docker-compose.yaml:beside.yaml\nCOMPOSE_PROJECT_NAME=beside\n")
    assert compose_files(folder, {}) == (folder / FILE, folder / "beside.yaml")
    assert compose_files(folder, {"COMPOSE_FILE": "docker-compose.yaml"}) == (folder / FILE,)
    assert project_name(folder, {}) == "beside"
    assert project_name(folder, {"COMPOSE_PROJECT_NAME": "outside"}) == "outside"


def test_a_list_with_variables_is_refused(folder: Path) -> None:
    assert "write it without variables" in refusal(folder, COMPOSE_FILE="${HOME}/x.yaml")


def test_the_file_is_labelled_as_compose_labels_it(folder: Path) -> None:
    (folder / "link").symlink_to(folder)
    assert file_of(folder / "link") == folder / "link" / FILE
    assert file_of(folder / "link" / "..") == folder / FILE


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("name: p\n", "p"),
        ("\ufeffname: 'p'  # mine\r\nservices: {}\r\n", "p"),
        ("services: {chat: {name: x}}\n", "assistants"),
        ("name: [broken\n", "assistants"),
        ('name: p\nservices: {chat: {environment: {KEY: "${KEY:?the key}"', "p"),
        ("name: 7\n", "assistants"),
    ],
)
def test_the_name_is_known_whatever_the_rest_is(text: str, name: str, folder: Path) -> None:
    (folder / FILE).write_text(text)
    assert project_name(folder, {}) == name


def test_the_name_is_the_folders_without_a_file(folder: Path) -> None:
    (folder / FILE).unlink()
    assert project_name(folder, {}) == "assistants"


def test_a_dotenv_file_is_read(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(
        "\ufeff# a comment\r\nPLAIN=one two   # and a comment\r\nexport EXPORTED=yes\nSINGLE='# kept'\n"
        'DOUBLE="a b"\nEMPTY=\nHASH=a#b\nCOLON: value\nINHERITED\n'
    )
    assert dotenv(tmp_path) == {
        "PLAIN": "one two",
        "EXPORTED": "yes",
        "SINGLE": "# kept",
        "DOUBLE": "a b",
        "EMPTY": "",
        "HASH": "a#b",
        "COLON": "value",
    }


@given(st.text())
def test_any_dotenv_file_is_read(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    folder = tmp_path_factory.mktemp("any")
    (folder / ".env").write_text(text, encoding="utf-8", errors="replace")
    assert all(isinstance(value, str) for value in dotenv(folder).values())


def test_a_dotenv_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / ".env").write_bytes(b"A=\xff\xfe")
    with pytest.raises(TargetError, match=r"\.env cannot be read"):
        dotenv(tmp_path)
