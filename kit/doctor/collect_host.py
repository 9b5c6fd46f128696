"""What `doctor` reads of this machine, apart from Docker and the card."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from stat import S_IMODE, S_ISDIR

from kit.compose.observe import listeners
from kit.doctor.model import Host, KeyFile

CGROUPS = Path("/sys/fs/cgroup")
LIMITS = ("memory.max", "memory/memory.limit_in_bytes")  # of cgroup v2 and v1
MARKS = (Path("/.dockerenv"), Path("/run/.containerenv"))


def host(ports: Iterable[int], docker_root: str, marks: Iterable[Path] = MARKS, cgroups: Path = CGROUPS) -> Host:
    """The host, and who listens on `ports`; `docker_root` is where the engine keeps its volumes, "" when it is on
    another machine."""
    import psutil

    memory = psutil.virtual_memory()
    programs = {each.pid: each.info["name"] or "" for each in psutil.process_iter(["name"])}
    return Host(
        memory=memory.total,
        available=memory.available,
        root_free=_free(docker_root),
        kernel=platform.release(),
        containered=is_container(marks, programs),
        mps=frozenset(pid for pid, name in programs.items() if name.startswith("nvidia-cuda-mps")),
        listeners=listeners(ports),
        limit=_limit(cgroups, memory.total),
    )


def is_container(marks: Iterable[Path], programs: Mapping[int, str]) -> bool:
    """Whether this is a container: one of `marks` exists, and no Docker Engine runs here (pid -> name)."""
    return any(mark.exists() for mark in marks) and "dockerd" not in programs.values()


def _limit(cgroups: Path, memory: int | None) -> int | None:
    """What this machine's own cgroup leaves of its memory; None without a limit below it."""
    said = [(cgroups / name).read_text().strip() for name in LIMITS if (cgroups / name).is_file()]
    known = [int(text) for text in said if text.isdecimal()]
    return min(known) if known and memory and min(known) < memory else None


def _free(folder: str) -> int | None:
    import psutil

    with suppress(OSError):
        return int(psutil.disk_usage(folder).free) if folder else None
    return None


def key_file(path: Path) -> KeyFile:
    """A key's file, without what it says."""
    try:
        mode, folder = S_IMODE(path.stat().st_mode), S_IMODE(path.parent.stat().st_mode)
        length = len(path.read_text(encoding="utf-8", errors="replace").strip())
    except OSError:
        return KeyFile(there=path.exists())
    return KeyFile(True, mode, bool(folder & 0o001), length)


def unreadable(folder: Path, as_root: bool) -> str | None:
    """The first file or folder in `folder` that a container's user may not read, relative to it: root without
    capabilities reads what it owns and what everyone may read. Raises OSError when there is no such folder."""
    found = (folder, *sorted(path for path in folder.rglob("*") if path.exists()))
    return next((str(path.relative_to(folder)) for path in found if not _readable(path, as_root)), None)


def _readable(path: Path, as_root: bool) -> bool:
    seen = path.stat()
    needed = 0o5 if S_ISDIR(seen.st_mode) else 0o4
    mine = as_root and seen.st_uid == 0 and (seen.st_mode >> 6) & needed == needed
    return mine or seen.st_mode & needed == needed
