"""Who listens on this host's TCP ports, from /proc. What cannot be read is left out."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

LISTEN = "0A"
PROC = Path("/proc")


@dataclass(frozen=True)
class Listener:
    """Somebody holds `port` at `host_ip` ("0.0.0.0" and "::" are every address); `who`, in words."""

    host_ip: str
    port: int
    who: str
    protocol: str = "tcp"


def listening(table: str) -> list[tuple[str, int, str]]:
    """The text of /proc/net/tcp or tcp6 -> address, port and inode of each listening socket. Pure."""
    rows = (line.split() for line in table.splitlines()[1:])
    return [(*_place(row[1]), row[9]) for row in rows if len(row) > 9 and row[3] == LISTEN]


def _place(text: str) -> tuple[str, int]:
    """`0100007F:7530` -> 127.0.0.1, 30000: the kernel prints words of four bytes, each the wrong way round."""
    address, _, port = text.partition(":")
    words = [bytes.fromhex(address[at : at + 8])[::-1] for at in range(0, len(address), 8)]
    family = socket.AF_INET if len(words) == 1 else socket.AF_INET6
    return socket.inet_ntop(family, b"".join(words)), int(port, 16)


def listeners(ports: Iterable[int], proc: Path = PROC) -> tuple[Listener, ...]:
    """Who listens on one of `ports`."""
    wanted = set(ports)
    found = [place for table in ("tcp", "tcp6") for place in listening(_read(proc / "net" / table))]
    taken = [place for place in found if place[1] in wanted]
    owners = _owners({inode for _, _, inode in taken}, proc) if taken else {}
    unknown = "another program (`ss -ltnp` names it)"
    return tuple(Listener(address, port, owners.get(inode, unknown)) for address, port, inode in taken)


def _owners(inodes: set[str], proc: Path) -> dict[str, str]:
    owners: dict[str, str] = {}
    for process in proc.glob("[0-9]*"):
        for inode in _sockets(process) & inodes:
            owners[inode] = f"{_read(process / 'comm').strip() or 'a program'} (pid {process.name})"
    return owners


def _sockets(process: Path) -> set[str]:
    return {match.group(1) for link in _links(process / "fd") if (match := re.fullmatch(r"socket:\[(\d+)\]", link))}


def _links(folder: Path) -> Iterator[str]:
    try:
        for entry in folder.iterdir():
            yield str(entry.readlink())
    except OSError:
        return


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
