"""Files as users of Compose write them: the kit and Compose make the same of them, and either takes over."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kit.compose import up
from kit.compose.compose_cli import not_as_billed
from tests.docker.conftest import IMAGE, Project
from tests.docker.test_differential import created_by_compose, created_by_the_kit, must_make_the_same
from tests.support.paths import ROOT

pytestmark = pytest.mark.docker

ANCHORS = """
x-note: &note {logging: {driver: json-file, options: {max-size: 1m}}}
x-worker: &worker
  <<: *note
  image: IMAGE
  environment: &env {A: "1", B: "a$$b"}
services:
  chat: {<<: *worker, command: [sleep, "600"]}
  rank:
    <<: [*worker]
    environment: {<<: *env, B: two}
"""
UI = "services: {ui: {image: IMAGE, ports: ['127.0.0.1::80'], depends_on: [chat]}}\n"
CHAT = "services: {chat: {image: IMAGE, command: [sleep, '600'], labels: {monogpu.role: worker}}}\n"
KINDS: dict[str, dict[str, str]] = {
    "anchors, merge keys and x- blocks": {up.FILE: ANCHORS},
    "profiles": {
        ".env": "COMPOSE_PROFILES=web\n",
        up.FILE: "services:\n  chat: {image: IMAGE}\n  ui: {image: IMAGE, profiles: [web], depends_on: [chat]}\n"
        "  debug: {image: IMAGE, profiles: [debug]}\n",
    },
    "an inactive dependency": {
        up.FILE: "services:\n  chat: {image: IMAGE, depends_on: {db: {condition: service_started, required: false}}}\n"
        "  db: {image: IMAGE, profiles: [db]}\n",
    },
    "env_file": {
        "chat.env": "KEY='a $$b'\nOTHER=${HOME}\nLINES=\"one\\ntwo\"\n",
        up.FILE: "services: {chat: {image: IMAGE, env_file: [chat.env, {path: none.env, required: false}],"
        " environment: {MORE: x}}}\n",
    },
    "include": {
        up.FILE: "include: [more/ui.yaml]\n" + CHAT,
        "more/ui.yaml": "services: {ui: {image: IMAGE, volumes: ['./ui:/ui']}}\n",
    },
    "COMPOSE_FILE": {
        ".env": f"COMPOSE_FILE={up.FILE}:more/ui.yaml\n", up.FILE: CHAT, "more/ui.yaml": UI,
    },
    "an override": {up.FILE: CHAT, "docker-compose.override.yaml": UI},
    "CRLF, a BOM and ~": {
        ".env": "\ufeffNAME=value\r\n",
        up.FILE: "\ufeffservices:\r\n  chat:\r\n    image: IMAGE\r\n    environment: {A: '${NAME}'}\r\n"
        "    volumes: ['~/mine:/mine', '/mnt/c/Users:/users']\r\n",
    },
}  # fmt: skip


@pytest.fixture(params=KINDS, ids=[kind.replace(" ", "-") for kind in KINDS])
def edited(request: pytest.FixtureRequest, project: Project) -> Project:
    put(project, KINDS[request.param])
    return project


def put(project: Project, files: dict[str, str]) -> None:
    for name, text in files.items():
        head = f"\ufeffname: {project.name}\r\n" if text.startswith("\ufeff") else f"name: {project.name}\n"
        path = project.folder / name
        path.parent.mkdir(exist_ok=True)
        body = text.replace("IMAGE", IMAGE)
        path.write_bytes((head + body.lstrip("\ufeff") if name == up.FILE else body).encode())


def test_the_kit_and_compose_make_the_same(edited: Project) -> None:
    must_make_the_same(edited)


def test_compose_takes_over_what_the_kit_made(edited: Project) -> None:
    before = {name: attrs["Id"] for name, attrs in created_by_the_kit(edited).items()}
    edited.compose("create")
    assert edited.ids() == before


def test_the_kit_takes_over_what_compose_made(edited: Project) -> None:
    made = created_by_compose(edited)
    assert sorted(edited.planned()) == sorted(f"start {name}: was made, but not started" for name in made)


def test_what_runs_is_kept_by_either(project: Project) -> None:
    put(
        project,
        {up.FILE: CHAT, "docker-compose.override.yaml": UI.replace("IMAGE,", "IMAGE, command: [sleep, '600'],")},
    )
    assert {service.verb for service in project.up().services} == {"create"}
    before = project.ids()
    project.compose("up", "--detach")
    assert project.ids() == before and len(before) == 2
    assert {service.verb for service in project.up().services} == {"keep"}


def test_an_override_that_changes_a_worker_is_named_and_a_neighbour_is_not(project: Project) -> None:
    put(project, {up.FILE: CHAT + "x-key: '${UNSET:?a secret}'\n", "docker-compose.override.yaml": UI})
    assert not_as_billed(project.folder, project.environ) == {}
    more = "services: {chat: {command: [sleep, '1'], shm_size: 1g, environment: {A: b}}}\n"
    put(project, {"docker-compose.override.yaml": more})
    assert not_as_billed(project.folder, project.environ) == {"chat": ("command", "shm_size")}


PLANTED = "planted-s3cret-value"
LEAKS: dict[str, tuple[str, str]] = {
    "a dry run": ("", "environment: {KEY: '${PLANTED}', OUT: '${OUTSIDE}'}"),
    "a key that is refused": ("", "environment: {KEY: '${PLANTED}'}\n    build: '${PLANTED}'"),
    "a size that is none": ("", "mem_limit: '${PLANTED}'"),
    "a port that is none": ("", "ports: ['${PLANTED}:80']"),
    "a number that is none": ("", "cpus: '${OUTSIDE}'"),
    "a value that is refused": ("", "network_mode: 'service:${PLANTED}'"),
    "a .env that is broken": (f'\nOTHER="{PLANTED}\n', "environment: {KEY: '${PLANTED}'}"),
    "a .env without a name": (f"\n{PLANTED} is what\n", "environment: {KEY: '${PLANTED}'}"),
    "an env_file": ("", "env_file: [secret.env]"),
}  # fmt: skip


@pytest.mark.parametrize("kind", LEAKS)
def test_a_secret_is_in_no_output(kind: str, project: Project) -> None:
    env, fields = LEAKS[kind]
    shutil.copy(ROOT / "compose/cpu-demo/monogpu.yaml", project.folder)
    shutil.copy(ROOT / "compose/cpu-demo/facts.json", project.folder)
    (project.folder / ".env").write_text(f"PLANTED={PLANTED}{env}\n")
    (project.folder / "secret.env").write_text(f"SECRET={PLANTED}\n")
    project.write(f"  chat:\n    image: IMAGE\n    command: [sleep, '600']\n    {fields}")
    commands = (
        ("up", "--dry-run"),
        ("up", "--dry-run", "--json"),
        ("status", "--json"),
        ("logs", "chat", "--tail", "5"),
        ("verify", "--url", "http://127.0.0.1:9"),
    )
    for words in commands:
        said = kit(project, *words)
        assert PLANTED not in said and "Traceback" not in said, (words, said)


def kit(project: Project, *words: str) -> str:
    """All that a command prints."""
    here: dict[str, Any] = {"cwd": project.folder, "timeout": 120, "text": True}
    environ = {**project.environ, "PYTHONPATH": str(ROOT), "OUTSIDE": PLANTED, "NO_COLOR": "1"}
    environ |= {name: os.environ[name] for name in ("DOCKER_HOST",) if name in os.environ}
    out = subprocess.PIPE
    return subprocess.run(
        [sys.executable, "-m", "kit.cli", *words],
        **here,
        env=environ,
        stdout=out,
        stderr=subprocess.STDOUT,
        check=False,
    ).stdout


@pytest.mark.parametrize("source", ["C:\\\\Users\\\\me\\\\models", "models\\\\chat"])
def test_a_path_of_windows_is_refused_in_words(source: str, project: Project) -> None:
    project.write(f"  chat: {{image: IMAGE, volumes: [{{type: bind, source: '{source}', target: /x}}]}}")
    with pytest.raises(Exception, match="write it as WSL2 has it"):
        up.read(project.folder, project.environ)


def test_status_logs_and_down_need_neither_compose_nor_the_file(project: Project) -> None:
    shutil.copy(ROOT / "compose/cpu-demo/monogpu.yaml", project.folder)
    manifest = Path(project.folder / "monogpu.yaml")
    manifest.write_text(manifest.read_text().replace("name: cpu-demo", f"name: {project.name}", 1))
    project.write("  chat: {image: IMAGE, command: [sleep, '600']}")
    project.up()
    (project.folder / up.FILE).write_text("services: {chat: [broken\n")
    project.environ["PATH"] = str(project.folder)
    assert "chat" in kit(project, "status")
    assert "cannot" not in kit(project, "logs", "chat")
    kit(project, "down")
    assert project.ids() == {}
