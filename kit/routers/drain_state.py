"""Which services a router still sends to, from its own answers, and its list without some of them. Pure.

SMG reads its list of workers again whenever the file changes; HAProxy, where it stands in front, takes commands that
drain a server. A worker that was taken out gets no new request and finishes those it has; then it may stop, and no
client sees an error. It comes back when it serves again.
"""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from kit.metrics import Load
from kit.routers.smg import listing

NOT_DRAINED = ("ready", "pending", "not_ready", "failed")  # states of SMG's workers


class WorkerList(BaseModel):
    """SMG's file of workers, and its answer to GET /workers."""

    workers: list[dict[str, Any]]


def workers(text: str) -> list[dict[str, Any]] | None:
    """The workers in SMG's list or answer; None for any other text."""
    try:
        return WorkerList.model_validate_json(text).workers
    except ValueError:
        return None


def without(text: str, services: Collection[str]) -> str:
    """The router's list less what these services serve; a text that is no such list stays as it is."""
    listed = workers(text) or []
    left = [worker for worker in listed if not belongs(str(worker.get("url")), services)]
    return listing(left) if len(left) < len(listed) else text


def is_part(text: str, of: str) -> bool:
    """Whether a list of workers is another one less some of its workers."""
    part, whole = workers(text), workers(of)
    return part is not None and whole is not None and all(worker in whole for worker in part)


def belongs(url: str, services: Collection[str]) -> bool:
    """Whether an address is one of these services': its own, or one of its adapters' (`code.chat`)."""
    host = url.rpartition("//")[2].partition("/")[0].partition(":")[0].lower()
    return any(host == service.lower() or host.endswith(f".{service.lower()}") for service in services)


def drained(answer: str, services: Collection[str]) -> bool:
    """Whether SMG, by its answer to GET /workers, sends nothing more to these services."""
    found = [each for each in workers(answer) or () if belongs(str(each.get("url")), services)]
    return not any(each.get("status") in NOT_DRAINED for each in found)


def serving(answer: str, text: str, services: Collection[str] | None = None) -> bool:
    """Whether every worker of the list, or every one of these services in it, is known to the router, and ready."""
    listed = [str(worker.get("url")) for worker in workers(text) or ()]
    ready = {each.get("url") for each in workers(answer) or () if each.get("status") == "ready"}
    return all(url in ready for url in listed if services is None or belongs(url, services))


def routed(answer: str) -> dict[str, str] | None:
    """Model name -> what SMG says of it, the best of its replicas; None for an answer that is not SMG's."""
    listed = workers(answer)
    if listed is None or not all({"model_id", "status"} <= each.keys() for each in listed):
        return None
    by_state = sorted(
        ((str(each["model_id"]), str(each["status"])) for each in listed), key=lambda one: one[1] == "ready"
    )
    return dict(by_state)


@dataclass(frozen=True)
class Server:
    """A worker as HAProxy knows it; `state` is HAProxy's own (UP, DOWN, DRAIN ...), `requests` the open ones."""

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


def idle(load: Load | None) -> bool:
    """Whether a worker has no open request. One that does not tell is not waited for."""
    return load is None or not (load.running or load.waiting)
