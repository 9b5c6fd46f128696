"""Asks the Hub whether this token may read a repository. Nothing is downloaded."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from kit.doctor.machine import Access
from kit.errors import ModelFilesError
from kit.facts.hub import Hub, UnreachableError, ask_hub
from kit.manifest.source import Source

if TYPE_CHECKING:
    import httpx

SECONDS = 6.0


def access(places: Iterable[str], hub: Hub, http: httpx.Client) -> tuple[dict[str, Access], float | None]:
    """What may be read of the repositories `places`, and how many seconds the Hub's clock is ahead of ours."""
    import httpx

    names = list(dict.fromkeys(places))
    try:
        answer = http.head(hub.api.endpoint, timeout=SECONDS)
    except httpx.HTTPError as error:
        why = f"{hub.api.endpoint} cannot be reached ({error or type(error).__name__})"
        away = Access("away", why, "look at the network and at HTTPS_PROXY, or give a folder as `source`")
        return dict.fromkeys(names, away), None
    with ThreadPoolExecutor(8) as pool:
        return dict(zip(names, pool.map(lambda name: _one(name, hub), names), strict=True)), _ahead(answer)


def _one(place: str, hub: Hub) -> Access:
    try:
        ask_hub(Source("hub", place), place, hub, lambda: hub.api.auth_check(place))
    except UnreachableError as error:
        return Access("refused", error.problems[0].what, error.problems[0].needed)
    except ModelFilesError as error:
        problem = error.problems[0]
        return Access("refused", problem.what, "; ".join(part for part in (problem.needed, problem.hint) if part))
    return Access()


def _ahead(answer: httpx.Response) -> float | None:
    try:
        return (parsedate_to_datetime(answer.headers["date"]) - datetime.now(UTC)).total_seconds()
    except (KeyError, ValueError, TypeError):
        return None
