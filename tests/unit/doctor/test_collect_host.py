from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.doctor.collect_host import host, key_file, meminfo, unreadable
from kit.doctor.machine import KeyFile
from tests.unit.compose.test_listeners import TABLE


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """A /proc with one listener and two programs."""
    made = tmp_path / "proc"
    for pid, name in (("7", "nvidia-cuda-mps"), ("9", "nginx")):
        (made / pid).mkdir(parents=True)
        (made / pid / "comm").write_text(f"{name}\n")
    (made / "meminfo").write_text("MemTotal:       24684084 kB\nMemFree: 1 kB\nMemAvailable:   17761268 kB\n")
    (made / "net").mkdir()
    (made / "net" / "tcp").write_text(TABLE)
    return made


def test_a_machine_is_looked_at(proc: Path, tmp_path: Path) -> None:
    seen = host([30000], str(tmp_path), proc, [tmp_path / "none"])
    assert (seen.memory, seen.available) == (24684084 * 1024, 17761268 * 1024)
    assert seen.root_free is not None and seen.root_free > 0
    assert (seen.mps, seen.containered) == ({7}, False)
    assert [each.port for each in seen.listeners] == [30000]
    assert seen.kernel == os.uname().release


def test_a_container_is_one_by_its_mark_unless_docker_itself_runs_there(proc: Path, tmp_path: Path) -> None:
    mark = tmp_path / ".dockerenv"
    mark.touch()
    assert host([], "", proc, [mark]).containered
    (proc / "9" / "comm").write_text("dockerd\n")
    assert not host([], "", proc, [mark]).containered


def test_a_cgroup_leaves_less_than_there_is(proc: Path, tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    for name, text, limit in (
        ("memory.max", "max\n", None),
        ("memory.max", f"{2**30}\n", 2**30),
        ("memory.max", f"{2**60}\n", None),
        ("memory/memory.limit_in_bytes", f"{2**31}\n", 2**31),
    ):
        (tmp_path / name).write_text(text)
        assert host([], "", proc, [], tmp_path).limit == limit
    assert host([], "", proc, [], tmp_path / "none").limit is None


def test_what_cannot_be_seen_is_unknown(tmp_path: Path) -> None:
    seen = host([30000], str(tmp_path / "nowhere"), tmp_path / "noproc", [])
    assert (seen.memory, seen.available, seen.root_free, seen.mps, seen.listeners) == (None, None, None, set(), ())
    assert host([], "", tmp_path).root_free is None


@given(st.text())
def test_any_meminfo_is_read(text: str) -> None:
    assert all(each is None or each >= 0 for each in meminfo(text))


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
