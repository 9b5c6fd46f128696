from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from kit.doctor.collect_host import host, is_container, key_file, unreadable
from kit.doctor.model import KeyFile


def test_a_machine_is_looked_at(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
        seen = host([port], str(tmp_path), [tmp_path / "none"])
    assert seen.memory is not None and seen.available is not None and 0 < seen.available <= seen.memory
    assert seen.root_free is not None and seen.root_free > 0
    assert not seen.containered
    assert [each.port for each in seen.listeners] == [port]
    assert seen.kernel == os.uname().release


def test_a_container_is_one_by_its_mark_unless_docker_itself_runs_there(tmp_path: Path) -> None:
    mark = tmp_path / ".dockerenv"
    assert not is_container([mark], {1: "init"})
    mark.touch()
    assert is_container([mark], {1: "init"})
    assert not is_container([mark], {1: "init", 9: "dockerd"})


def test_a_cgroup_leaves_less_than_there_is(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    for name, text, limit in (
        ("memory.max", "max\n", None),
        ("memory.max", f"{2**30}\n", 2**30),
        ("memory.max", f"{2**60}\n", None),
        ("memory/memory.limit_in_bytes", f"{2**31}\n", 2**31),
    ):
        (tmp_path / name).write_text(text)
        assert host([], "", [], tmp_path).limit == limit
    assert host([], "", [], tmp_path / "none").limit is None


def test_what_cannot_be_seen_is_unknown(tmp_path: Path) -> None:
    assert host([], str(tmp_path / "nowhere"), []).root_free is None
    assert host([], "").root_free is None


def test_a_keys_file_is_measured_and_not_kept(tmp_path: Path) -> None:
    folder = tmp_path / "secrets"
    folder.mkdir(mode=0o700)
    file = folder / "key"
    assert key_file(file) == KeyFile(there=False)
    file.write_text("s3cret\n")
    file.chmod(0o444)
    assert key_file(file) == KeyFile(True, 0o444, False, 6)
    folder.chmod(0o755)
    assert key_file(file).folder_open


def test_the_first_file_that_a_containers_user_may_not_read_is_named(tmp_path: Path) -> None:
    model = tmp_path / "model"
    (model / "sub").mkdir(parents=True)
    for name in ("config.json", "sub/weights"):
        (model / name).touch(mode=0o644)
    model.chmod(0o755)
    (model / "sub").chmod(0o755)
    assert unreadable(model, as_root=False) is None
    (model / "sub" / "weights").chmod(0o640)
    assert unreadable(model, as_root=False) == "sub/weights"
    assert unreadable(model, as_root=True) == (None if os.getuid() == 0 else "sub/weights")
    model.chmod(0o700)
    assert unreadable(model, as_root=False) == "."


def test_a_folder_that_is_not_there_cannot_be_looked_at(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        unreadable(tmp_path / "none", as_root=True)
