"""What is said when Docker does not answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.compose.client import (
    connect,
    refused,
    translate_errors,
)
from kit.errors import TargetError


def said(environ: dict[str, str]) -> str:
    with pytest.raises(TargetError) as caught:
        connect(environ)
    assert caught.value.exit_code == 4
    return str(caught.value)


def test_a_socket_that_is_not_there_is_said(tmp_path: Path) -> None:
    assert "Docker is not installed, or not running; `scripts/setup`" in said(
        {"DOCKER_HOST": f"unix://{tmp_path}/none"}
    )


def test_a_daemon_that_is_down_is_said(tmp_path: Path) -> None:
    import socket

    path = tmp_path / "docker.sock"
    with socket.socket(socket.AF_UNIX) as left_over:
        left_over.bind(str(path))
    assert "the daemon is down; `sudo systemctl start docker`" in said({"DOCKER_HOST": f"unix://{path}"})


def test_an_address_nobody_answers_at_is_said() -> None:
    assert "Docker cannot be reached" in said({"DOCKER_HOST": "tcp://127.0.0.1:1"})


def test_an_address_that_is_none_is_said() -> None:
    assert "look at DOCKER_HOST" in said({"DOCKER_HOST": "nonsense://x"})


def test_a_user_who_may_not_is_told_how_to_become_one_who_may() -> None:
    from kit.compose.client import unreachable

    words = "Error while fetching server API version: ('Connection aborted.', PermissionError(13, 'Permission denied'))"
    assert "usermod -aG docker $USER" in str(unreachable(words))


def test_what_docker_refuses_is_explained_and_its_own_words_are_kept() -> None:
    error = refused("router cannot be started", "Bind for 127.0.0.1:30000 failed: port is already allocated")
    assert str(error).startswith("router cannot be started; the port is taken; stop the program that uses it")
    assert error.evidence == "Bind for 127.0.0.1:30000 failed: port is already allocated"
    assert str(refused("x cannot be started", "something new")) == "x cannot be started; something new"


def test_a_docker_that_goes_away_is_no_traceback() -> None:
    from requests.exceptions import ConnectionError

    with (
        pytest.raises(TargetError, match="p cannot be brought up; Docker went away"),
        translate_errors("p cannot be brought up"),
    ):
        raise ConnectionError("('Connection aborted.', RemoteDisconnected)")


def test_what_is_not_dockers_is_left_alone() -> None:
    with pytest.raises(BrokenPipeError), translate_errors("p cannot be brought up"):
        raise BrokenPipeError
