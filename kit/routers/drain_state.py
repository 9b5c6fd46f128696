"""Taking names out of the router before their workers stop. Pure.

The router reads its list of workers again whenever the file changes; HAProxy, where it stands in front, is told to
drain a server. A worker that was taken out gets no new request; those it has are finished; then it may stop, and nobody
sees an error. It comes back when it serves again.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from kit.metrics import Load
from kit.routers.smg import listing

AT_WORK = ("ready", "pending", "not_ready", "failed")  # SMG's words for a worker that it has not let go


def without(text: str, services: Collection[str]) -> str:
    """The router's list less what these services serve; a text that is no such list stays as it is."""
    try:
        workers = json.loads(text)["workers"]
        left = [worker for worker in workers if not belongs(str(worker["url"]), services)]
    except (ValueError, KeyError, TypeError):
        return text
    return listing(left) if len(left) < len(workers) else text


def belongs(url: str, services: Collection[str]) -> bool:
    """Whether an address is one of these services': its own, or one of its adapters' (`code.chat`)."""
    host = urlsplit(url).hostname or ""
    return any(host == service.lower() or host.endswith(f".{service.lower()}") for service in services)


def states(answer: str) -> dict[str, str]:
    """SMG's answer to GET /workers -> what it says of each address; {} when it is no such answer."""
    try:
        listed: list[dict[str, Any]] = json.loads(answer)["workers"]
        return {str(each["url"]): str(each["status"]) for each in listed}
    except (ValueError, KeyError, TypeError):
        return {}


def let_go(answer: str, services: Collection[str]) -> bool:
    """Whether the router sends nothing more to these services."""
    return not any(state in AT_WORK for url, state in states(answer).items() if belongs(url, services))


def taken_up(answer: str, text: str, services: Collection[str] | None = None) -> bool:
    """Whether every worker of the list, or every one of these services in it, is known to the router, and ready."""
    try:
        listed = [str(worker["url"]) for worker in json.loads(text)["workers"]]
    except (ValueError, KeyError, TypeError):
        return True
    said = states(answer)
    return all(said.get(url) == "ready" for url in listed if services is None or belongs(url, services))


@dataclass(frozen=True)
class Server:
    """A worker as HAProxy knows it; `state` is HAProxy's word (UP, DOWN, DRAIN ...), `requests` those under way."""

    backend: str
    name: str
    state: str
    requests: int

    @property
    def closed(self) -> bool:
        """Whether it gets no new request."""
        return self.state.startswith(("DRAIN", "MAINT", "DOWN"))


def servers(answer: str) -> tuple[Server, ...]:
    """HAProxy's answer to `show stat`, a table with commas -> the servers in it; () when it is no such table."""
    found = (_server(row) for row in csv.DictReader(answer.removeprefix("# ").splitlines()))
    return tuple(server for server in found if server)


def _server(row: Mapping[str, str | None]) -> Server | None:
    backend, name, state, requests = (row.get(key) or "" for key in ("pxname", "svname", "status", "scur"))
    if not backend or name in ("", "FRONTEND", "BACKEND") or not (requests.isascii() and requests.isdecimal()):
        return None
    return Server(backend, name, state, int(requests))


def of(known: Iterable[Server], services: Collection[str]) -> tuple[Server, ...]:
    """Those that are these services: a server has its worker's host name."""
    return tuple(server for server in known if belongs(f"http://{server.name}", services))


def at_rest(load: Load | None) -> bool:
    """Whether a worker has no request left. One that does not tell is not waited for."""
    return load is None or not (load.running or load.waiting)


def is_part(text: str, of: str) -> bool:
    """Whether a list of workers is another one less some of its workers."""
    try:
        some, all_ = json.loads(text)["workers"], json.loads(of)["workers"]
        return all(worker in all_ for worker in some)
    except (ValueError, KeyError, TypeError):
        return False
