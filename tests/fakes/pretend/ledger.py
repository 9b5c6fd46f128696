"""The card that every pretend worker shares: a JSON file under a lock, which stands for the driver.

    card.json         {"total_bytes", "name", ..., "allocations": {ID: {"pid", "name", "parts": {cause: bytes}}}}
    card.json.lock    held (flock) while card.json is read and written
    card.json.d/ID    held (flock) by the process that owns the allocations ID, as long as it lives

A process that dies, however it dies, loses its lock; whoever looks next drops its allocations, `free_delay` seconds
later when the card says so, as CUDA frees late. The owner also holds a POSIX lock on its file, because F_GETLK tells
a process outside the container the owner's pid as the outside sees it, like NVML does. Share the folder, not the file:
card.json is replaced by rename.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import socket
import struct
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from .names import names

GIB = 1024**3
MIB = 1024**2
_FLOCK = "hhqqi4x"
_GPU_FIELDS = names("name uuid index total_bytes free_bytes compute_capability driver")


class CardFullError(Exception):
    """The card has less free than was asked: bytes tried, free, and already held by the one who asked."""

    def __init__(self, tried: int, free: int, mine: int) -> None:
        super().__init__(f"tried {tried}, free {free}, mine {mine}")
        self.tried, self.free, self.mine = tried, free, mine


@dataclass(frozen=True)
class Allocation:
    """What one process holds, in bytes by cause. `dead`: when its death was noticed; `fixed`: of no process here."""

    pid: int
    name: str
    host: str = ""
    parts: dict[str, int] = field(default_factory=dict)
    dead: float | None = None
    fixed: bool = False

    @property
    def bytes(self) -> int:
        return sum(self.parts.values())


@dataclass(frozen=True)
class Card:
    """One card. `context_bytes`, `residual_bytes`: what a CUDA context, and what libraries take lazily, cost on it."""

    total_bytes: int = int(15.47 * GIB)
    name: str = "NVIDIA GeForce RTX 5080"
    uuid: str = "GPU-5eeda7a0-0000-4000-8000-000000000000"
    index: int = 0
    compute_capability: str = "12.0"
    driver: str = "580.95"
    context_bytes: int = 256 * MIB
    residual_bytes: int = 238 * MIB
    free_delay: float = 0.0
    allocations: dict[str, Allocation] = field(default_factory=dict)

    @property
    def free_bytes(self) -> int:
        return self.total_bytes - sum(one.bytes for one in self.allocations.values())


def as_gpu_json(card: Card) -> dict[str, Any]:
    """The card as a recorded gpu.json: totals and, per process, pid, name and bytes."""
    processes = [{"pid": one.pid, "name": one.name, "bytes": one.bytes} for one in card.allocations.values()]
    same = {key: getattr(card, key) for key in _GPU_FIELDS}
    return {**same, "processes": [process for process in processes if process["bytes"]]}


def create(path: Path, card: Card) -> None:
    """Lays a fresh card down, replacing any; its folder is made writable for every container's user."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(PermissionError):
        path.parent.chmod(0o777)
    with _locked(path):
        _write(path, card)


def ensure(path: Path, card: Card) -> None:
    """`create`, unless there is a card already."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with _locked(path):
        if not path.exists():
            _write(path, card)


def read(path: Path) -> Card:
    """The card as it is now: the dead are gone, pids are those that the reader sees. OSError when there is no card."""
    if not path.exists():
        raise FileNotFoundError(errno.ENOENT, "no pretend card here", str(path))
    with _locked(path):
        card = _settled(path, "")
        seen = {key: replace(one, pid=_owner(_folder(path) / key) or one.pid) for key, one in card.allocations.items()}
        return replace(card, allocations=seen)


def foreign(path: Path, pid: int, name: str, count: int) -> None:
    """Bytes held by somebody who is not a pretend worker (a desktop, a game); `count` 0 gives them back."""
    with _locked(path):
        card = _settled(path, "")
        others = {key: one for key, one in card.allocations.items() if key != f"foreign-{pid}"}
        if count:
            others[f"foreign-{pid}"] = Allocation(pid, name, parts={"foreign": count}, fixed=True)
        _write(path, replace(card, allocations=others))


class Holder:
    """This process's place on the card, for as long as the process lives."""

    def __init__(self, path: Path, name: str, free_delay: float | None = None) -> None:
        self.path = path
        self.id = f"{socket.gethostname()}-{os.getpid()}-{time.time_ns()}"
        self._file = _owned(_folder(path) / self.id)
        with _locked(path):
            card = _settled(path, self.id)
            if free_delay is not None:
                card = replace(card, free_delay=free_delay)
            self._set(card, Allocation(os.getpid(), name, socket.gethostname()))

    def take(self, cause: str, count: int) -> Card:
        """Holds `count` bytes more for `cause`. Raises CardFullError when the card has less free."""
        with _locked(self.path):
            card = _settled(self.path, self.id)
            me = card.allocations[self.id]
            if count > card.free_bytes:
                raise CardFullError(count, card.free_bytes, me.bytes)
            return self._set(card, replace(me, parts={**me.parts, cause: me.parts.get(cause, 0) + count}))

    def give(self, cause: str) -> Card:
        """Gives back everything held for `cause`."""
        with _locked(self.path):
            card = _settled(self.path, self.id)
            me = card.allocations[self.id]
            return self._set(card, replace(me, parts={key: n for key, n in me.parts.items() if key != cause}))

    def look(self) -> Card:
        with _locked(self.path):
            return _settled(self.path, self.id)

    def _set(self, card: Card, me: Allocation) -> Card:
        changed = replace(card, allocations={**card.allocations, self.id: me})
        _write(self.path, changed)
        return changed


def _folder(path: Path) -> Path:
    folder = path.with_name(path.name + ".d")
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o777)
    return folder


def _open(path: Path) -> int:
    """Opens or creates a lock file that every user may lock."""
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        os.fchmod(file, 0o666)
    except FileExistsError:
        file = os.open(path, os.O_RDWR)
    return file


def _owned(path: Path) -> int:
    file = _open(path)
    fcntl.flock(file, fcntl.LOCK_EX)
    fcntl.lockf(file, fcntl.LOCK_EX)
    return file


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    file = _open(path.with_name(path.name + ".lock"))
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def _settled(path: Path, mine: str) -> Card:
    """Reads the card and lets go of the dead. The reader's own file stays closed: closing it would drop its lock."""
    data = json.loads(path.read_text(encoding="utf-8"))
    entries = {key: Allocation(**one) for key, one in data.pop("allocations", {}).items()}
    card = Card(**data)
    now = time.time()
    kept = {key: one if key == mine else _looked_at(path, key, one, now) for key, one in entries.items()}
    gone = {key for key, one in kept.items() if one.dead is not None and now - one.dead >= card.free_delay}
    settled = replace(card, allocations={key: one for key, one in kept.items() if key not in gone})
    for key in gone:
        (_folder(path) / key).unlink(missing_ok=True)
    if gone or any(one.dead != entries[key].dead for key, one in kept.items()):
        _write(path, settled)
    return settled


def _looked_at(path: Path, key: str, one: Allocation, now: float) -> Allocation:
    if one.fixed or one.dead is not None or _owner(_folder(path) / key) is not None:
        return one
    return replace(one, dead=now)


def _owner(path: Path) -> int | None:
    """The pid of the process that holds the file; 0: it lives, but cannot be named from here; None: it is dead."""
    try:
        file = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in (errno.EWOULDBLOCK, errno.EAGAIN):
            raise
        asked = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        found = struct.unpack(_FLOCK, fcntl.fcntl(file, fcntl.F_GETLK, asked))
        return max(0, int(found[4])) if found[0] != fcntl.F_UNLCK else 0
    finally:
        os.close(file)
    return None


def _write(path: Path, card: Card) -> None:
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    draft.write_text(json.dumps(asdict(card), indent=1), encoding="utf-8")
    draft.chmod(0o666)
    draft.replace(path)
