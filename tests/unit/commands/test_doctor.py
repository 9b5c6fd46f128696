"""`doctor` as it is typed, on a machine whose Docker does not answer: it finds that, and everything else besides."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT

MANIFEST = """
name: demo
gpu: {device: none, memory: 256MiB}
router: {api_key: DOCTORS_KEY}
models:
  - {name: chat, source: ./model}
"""


def doctor(folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": str(folder), "COLUMNS": "80"}
    environ |= {"DOCKER_HOST": f"unix://{folder}/docker.sock", **variables}
    return subprocess.run(
        [sys.executable, "-m", "kit.cli", "doctor", *words],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "monogpu.yaml").write_text(MANIFEST)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").touch(mode=0o600)
    return tmp_path


def found(folder: Path, **variables: str) -> dict[str, tuple[str, str]]:
    done = doctor(folder, "--json", **variables)
    said = json.loads(done.stdout)
    assert (done.returncode == 0) == said["ok"]
    return {one["subject"]: (one["severity"], one["what"]) for one in said["findings"]}


def test_what_fails_is_found_with_docker_down_and_the_code_is_that_of_the_stage(folder: Path) -> None:
    seen = found(folder)
    assert doctor(folder).returncode == 4
    assert seen["docker"][0] == "fail"
    assert seen["docker"][1].startswith("Docker cannot be reached: ")
    assert seen["folder"] == ("fail", "./model: the container's user may not read config.json")
    assert seen["variable"] == ("fail", "DOCTORS_KEY (router.api_key) is not set, in the environment or in .env")
    assert seen["card"] == ("ok", "not needed: the manifest serves on the CPU")


def test_a_key_is_found_in_the_environment_and_in_dotenv_and_never_shown(folder: Path) -> None:
    assert found(folder, DOCTORS_KEY="s3cret-of-the-doctor")["variable"][0] == "ok"
    (folder / ".env").write_text("DOCTORS_KEY=s3cret-of-the-doctor\n")
    (folder / ".env").chmod(0o644)
    seen = found(folder)
    assert seen["variable"][0] == "ok"
    assert seen["key"] == ("warn", "others can read .env, which holds DOCTORS_KEY")
    done = doctor(folder)
    assert "s3cret" not in done.stdout + done.stderr


def test_findings_are_plain_text_at_eighty_columns_but_for_commands(folder: Path) -> None:
    said = doctor(folder).stdout
    assert "\x1b" not in said
    assert all(len(line) <= 80 for line in said.splitlines() if "-> " not in line)
    assert "FAIL  folder              ./model: the container's user may not read" in said
    assert "      -> chmod -R a+rX ./model\n" in said


def test_a_broken_manifest_is_a_finding_and_the_machine_is_looked_at_all_the_same(folder: Path) -> None:
    (folder / "monogpu.yaml").write_text("models: []\nnmae: x\n")
    seen = found(folder)
    assert seen["manifest"] == ("fail", "2 problems in monogpu.yaml")
    assert "docker" in seen


def test_without_a_manifest_the_machine_alone_is_looked_at(tmp_path: Path) -> None:
    assert found(tmp_path)["manifest"] == ("warn", "monogpu.yaml does not exist: only the machine is checked")
