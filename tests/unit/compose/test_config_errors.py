"""What Docker Compose 2.26 says of files that it refuses, in the kit's words."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.compose.config_errors import placed, problem_of
from kit.errors import Problem

FILE = Path("/srv/p/docker-compose.yaml")
TEXT = """\
name: p
x-worker: &worker
  init: true
services:
  qwen2.5:
    <<: *worker
    image: x
    foo: 1
    depends_on: [c]
    ports: ["a:b"]
"""
SECRET = {"KEY": "planted-secret", "HOME": "/srv"}


def said(message: str, text: str = TEXT) -> str:
    return str(problem_of(message, {FILE: text}, SECRET)).splitlines()[0]


SAID = {
    "validating /srv/p/docker-compose.yaml: services.qwen2.5 Additional property foo is not allowed": (
        'docker-compose.yaml:8:5: services["qwen2.5"].foo: Docker Compose refuses the file; '
        "services.qwen2.5 Additional property foo is not allowed"
    ),
    "error while interpolating services.qwen2.5.environment.K: required variable K is missing a value: the key": (
        'docker-compose.yaml:5:3: services["qwen2.5"]: K is not set; the key; export K=...'
    ),
    "decoding failed due to the following error(s):\n\nerror decoding 'services[qwen2.5].init': bad: 'soon'": (
        'docker-compose.yaml:3:3: services["qwen2.5"].init: Docker Compose refuses the file; '
        "'services[qwen2.5].init': bad: 'soon'"
    ),
    'time="2026" level=warning msg="X"\nservice "qwen2.5" depends on undefined service "c": invalid compose project': (
        'docker-compose.yaml:5:3: services["qwen2.5"]: Docker Compose refuses the file; '
        'service "qwen2.5" depends on undefined service "c"'
    ),
    "yaml: line 7: did not find expected": (
        "docker-compose.yaml:7:1: Docker Compose cannot read the file; did not find expected"
    ),
    'yaml: unmarshal errors:\n  line 4: mapping key "a" already defined at line 3': (
        'docker-compose.yaml:4:1: Docker Compose cannot read the file; mapping key "a" already defined at line 3'
    ),
    "Invalid containerPort: b": "Docker Compose refuses the file; Invalid containerPort: b",
    "dependency cycle detected: a -> b -> a": (
        "Docker Compose refuses the file; dependency cycle detected: a -> b -> a"
    ),
    "open /srv/p/no.yaml: no such file or directory": (
        "Docker Compose refuses the file; open /srv/p/no.yaml: no such file or directory"
    ),
    "": "Docker Compose refuses the file; it does not say why",
}


@pytest.mark.parametrize(("message", "words"), SAID.items())
def test_an_error_is_shown_at_its_line(message: str, words: str) -> None:
    assert said(message) == words


@pytest.mark.parametrize(
    "message",
    [
        "error decoding 'services[qwen2.5].mem_limit': invalid size: 'planted-secret'",
        'error while interpolating services.a.cpus: strconv.ParseFloat: parsing "planted-secret": invalid syntax',
        "Invalid hostPort: planted-secret",
        'failed to read /srv/p/.env: line 2: unterminated quoted value "planted-secret',
        'failed to read /srv/p/.env: line 1: unexpected character "-" in variable name near "planted-secret=1"',
        "required variable A is missing a value: planted-secret",
    ],
)
def test_a_value_of_a_variable_is_not_shown(message: str) -> None:
    shown = problem_of(message, {FILE: TEXT}, SECRET)
    assert "planted" not in str(shown) and "planted" not in repr(shown)


def test_a_broken_env_file_is_named_with_its_line() -> None:
    assert said('failed to read /srv/p/.env: line 2: unterminated quoted value "x') == (
        "/srv/p/.env cannot be read; line 2: unterminated quoted value"
    )


def test_of_several_files_the_last_that_has_the_place_is_shown() -> None:
    texts = {FILE: TEXT, FILE.with_name("docker-compose.override.yaml"): "services:\n  qwen2.5:\n    build: .\n"}
    assert str(placed(Problem("no"), ("services", "qwen2.5", "build"), texts)).startswith(
        'docker-compose.override.yaml:3:5: services["qwen2.5"].build: no\n'
    )
    ports = str(placed(Problem("no"), ("services", "qwen2.5", "ports", 0), texts))
    assert ports.startswith('docker-compose.yaml:10:13: services["qwen2.5"].ports[0]: no\n')


def test_a_place_that_no_file_has_is_named_without_a_line() -> None:
    assert str(placed(Problem("no"), ("services", "else", "build"), {FILE: TEXT})) == "services.else.build: no"


@given(st.text(), st.text(), st.lists(st.text() | st.integers()).map(tuple))
def test_any_message_of_any_text_is_said(message: str, text: str, path: tuple[str | int, ...]) -> None:
    assert str(problem_of(message, {FILE: text}, SECRET))
    assert str(placed(Problem("no"), path, {FILE: text}))
