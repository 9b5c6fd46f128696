"""The Engine's answers as values."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from kit.compose.observed import Publication, container, moment, publications

INSPECTED: dict[str, Any] = {
    "Id": "abc",
    "Name": "/p-chat-1",
    "Image": "sha256:1",
    "RestartCount": 2,
    "State": {
        "Status": "running",
        "ExitCode": 0,
        "OOMKilled": False,
        "Error": "",
        "StartedAt": "2026-11-29T21:44:43.254511171Z",
        "FinishedAt": "0001-01-01T00:00:00Z",
        "Health": {"Status": "starting", "Log": [{"Output": "first\n"}, {"Output": "connection refused\n"}]},
    },
    "Config": {
        "Image": "vllm:1",
        "StopTimeout": 60,
        "Labels": {"com.docker.compose.service": "chat", "com.docker.compose.container-number": "3", "other": "x"},
    },
    "NetworkSettings": {"Networks": {"p_default": {}}},
}


def test_an_inspected_container_is_read() -> None:
    found = container(INSPECTED)
    assert (found.id, found.name, found.service, found.number, found.restarts) == ("abc", "p-chat-1", "chat", 3, 2)
    assert (found.status, found.health, found.probe) == ("running", "starting", "connection refused")
    assert found.started == datetime(2026, 11, 29, 21, 44, 43, 254511, tzinfo=UTC)
    assert found.finished is None
    assert (found.networks, found.image_name, found.stop_seconds) == (frozenset({"p_default"}), "vllm:1", 60)
    assert (found.label("other"), found.label("none")) == ("x", "")


def test_what_the_engine_leaves_out_is_unknown() -> None:
    state = {"Status": "created", "StartedAt": "", "Health": {"Status": "none"}}
    found = container({"Id": "1", "Name": "/n", "Image": "i", "State": state, "Config": {"Labels": None}})
    assert (found.health, found.started, found.networks, found.stop_seconds) == (None, None, frozenset(), 10)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-29T21:44:43Z", datetime(2026, 11, 29, 21, 44, 43, tzinfo=UTC)),
        ("2026-11-29T21:44:43.5Z", datetime(2026, 11, 29, 21, 44, 43, 500_000, tzinfo=UTC)),
        ("0001-01-01T00:00:00Z", None),
        (None, None),
    ],
)
def test_times_are_read(text: str | None, expected: datetime | None) -> None:
    assert moment(text) == expected


def test_published_ports_are_read_from_the_list() -> None:
    listed = {
        "Names": ["/p-router-1"],
        "Labels": {"com.docker.compose.project": "p"},
        "Ports": [
            {"IP": "127.0.0.1", "PrivatePort": 30000, "PublicPort": 30000, "Type": "tcp"},
            {"PrivatePort": 8000, "Type": "tcp"},
        ],
    }
    assert publications(listed) == (Publication("p-router-1", "p", "127.0.0.1", 30000),)
