"""The router's own start, run as the program that it is, with an smg that says what it was told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kit.routers import smg_launch

SMG = """
import json, os, sys
def main():
    cmdline = open("/proc/self/cmdline").read().replace(chr(0), " ")
    print(json.dumps({"argv": sys.argv[1:], "cmdline": cmdline, "env": os.environ.get("MONOGPU_API_KEY")}))
"""


def start(folder: Path, source: str, *arguments: str, key: str | None = None) -> subprocess.CompletedProcess[str]:
    """launch.py with its two places moved into `folder`."""
    package = folder / "smg"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "launch_router.py").write_text(SMG)
    text = Path(smg_launch.__file__).read_text().replace("/run/secrets/api-key", str(folder / "api-key"))
    program = folder / "launch.py"
    program.write_text(text.replace("/tmp/control-key", str(folder / "control-key")))
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(folder)} | (
        {"MONOGPU_API_KEY": key} if key is not None else {}
    )
    return subprocess.run(
        [sys.executable, str(program), source, *arguments], env=environ, capture_output=True, text=True, check=False
    )


def test_smg_gets_its_arguments_and_the_keys_behind_them(tmp_path: Path) -> None:
    told = json.loads(start(tmp_path, "env", "--port", "30000", key="-k3y").stdout)
    control = (tmp_path / "control-key").read_text()
    assert told["argv"] == [
        "--port", "30000", "--control-plane-api-keys", f"kit:monogpu-kit:admin:{control}", "--api-key=-k3y",
    ]  # fmt: skip


def test_no_key_is_among_the_arguments_that_others_can_read(tmp_path: Path) -> None:
    told = json.loads(start(tmp_path, "env", key="s3cret").stdout)
    assert "s3cret" not in told["cmdline"]
    assert (tmp_path / "control-key").read_text() not in told["cmdline"]
    assert told["env"] is None


def test_the_control_planes_key_is_its_own_anew_at_every_start_and_nobody_elses(tmp_path: Path) -> None:
    keys = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "control-key").write_text("left by an earlier start")
        start(folder, "open")
        keys.append((folder / "control-key").read_text())
        assert (folder / "control-key").stat().st_mode & 0o777 == 0o600
    assert len(set(keys)) == 2
    assert all(len(key) >= 32 for key in keys)


def test_a_key_comes_from_its_file(tmp_path: Path) -> None:
    (tmp_path / "api-key").write_text("from-a-file\n")
    assert json.loads(start(tmp_path, "file").stdout)["argv"][-1] == "--api-key=from-a-file"


def test_an_open_endpoint_has_no_key_but_a_locked_control_plane(tmp_path: Path) -> None:
    argv = json.loads(start(tmp_path, "open", key="unused").stdout)["argv"]
    assert [word for word in argv if word.startswith("--")] == ["--control-plane-api-keys"]


@pytest.mark.parametrize("key", [None, "", "  ", "two words", "bell\a"])
def test_an_endpoint_that_was_meant_to_be_locked_never_starts_open(tmp_path: Path, key: str | None) -> None:
    done = start(tmp_path, "env", key=key)
    assert done.returncode == 1
    assert done.stderr == "launch.py: the router's key is empty, or has spaces in it\n"
    assert done.stdout == ""


def test_a_file_that_is_not_there_is_said_in_words(tmp_path: Path) -> None:
    done = start(tmp_path, "file")
    assert done.returncode == 1
    assert done.stderr.startswith(
        "launch.py: the router's key cannot be read from its file: No such file or directory;"
    )


def test_a_file_that_is_no_text_is_said_in_words(tmp_path: Path) -> None:
    (tmp_path / "api-key").write_bytes(b"\xff\xfe\x00")
    done = start(tmp_path, "file")
    assert (done.returncode, "it is no text" in done.stderr) == (1, True)


def test_another_word_is_refused(tmp_path: Path) -> None:
    assert start(tmp_path, "--port").stderr == "launch.py: '--port' is not env, file or open\n"
