"""One look at this machine for `doctor`, and the versions of what runs on it."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import TYPE_CHECKING

from kit import __version__
from kit import gpu as cards
from kit.compose.client import connect
from kit.compose.compose_cli import compose_version
from kit.compose.compose_files import dotenv
from kit.doctor import collect_docker, collect_host
from kit.doctor.model import Access, Machine, Requirements
from kit.engines import mps
from kit.errors import ModelFilesError, TargetError
from kit.facts.hub import Hub, UnreachableError, ask_hub, default_hub
from kit.manifest.fields import Source

if TYPE_CHECKING:
    import httpx

HUB_SECONDS = 6.0
VERSION_SECONDS = 3
UNKNOWN = "unknown"


def look(needed: Requirements, folder: Path, environ: Mapping[str, str]) -> tuple[Machine, Requirements]:
    """The machine, and what is needed of it: without a manifest no card, where no driver answers. What is not needed
    is not checked."""
    machine = _files(needed, folder, environ)
    if needed.card is not None:
        machine = _with_card(machine, needed.card)
    if not needed.project and machine.card is None:
        needed = replace(needed, card=None)
    if needed.repositories:
        import httpx

        with httpx.Client(follow_redirects=True) as http:
            hub, ahead = access(needed.repositories, default_hub(), http)
        machine = replace(machine, hub=hub, hub_ahead=ahead)
    try:
        return _with_docker(machine, needed, environ), needed
    except TargetError as error:
        problem = error.problems[0]
        what = f"{problem.what}: {problem.needed}" if problem.hint else problem.what
        refused = (what, problem.hint or problem.needed)
        return replace(machine, refused=refused, host=collect_host.host([needed.port], "")), needed


def _files(needed: Requirements, folder: Path, environ: Mapping[str, str]) -> Machine:
    """Variables, keys and models' folders; and Compose."""
    env, beside, unreadable = folder / ".env", dict[str, str](), dict[str, str | None]()
    with suppress(TargetError):
        beside = dotenv(folder)
    for name in needed.folders:
        with suppress(OSError):
            unreadable[name] = collect_host.unreadable(folder / Path(name).expanduser(), needed.user_is_root)
    values = {**beside, **environ}
    key = collect_host.key_file(folder / Path(needed.key_file).expanduser()) if needed.key_file else None
    variable = next((name for name, user in (needed.variables or {}).items() if user == "router.api_key"), None)
    return Machine(
        compose=compose_version(environ),
        set=frozenset(name for name, value in values.items() if value),
        dotenv=frozenset(beside),
        dotenv_mode=env.stat().st_mode if env.exists() else None,
        key_file=key,
        key_length=key.length if key else len(values.get(variable, "")) if variable else None,
        unreadable=unreadable,
    )


def _with_card(machine: Machine, device: str) -> Machine:
    try:
        return replace(machine, card=cards.ask_driver(device), compute_mode=cards.compute_mode(device))
    except cards.GpuError as error:
        return replace(machine, no_card=error.problems[0].what)


def _with_docker(machine: Machine, needed: Requirements, environ: Mapping[str, str]) -> Machine:
    """Raises TargetError when Docker does not answer."""
    client = connect(environ)
    engine = collect_docker.engine(client)
    machine = replace(
        machine,
        engine=engine,
        images=collect_docker.images(client, needed.images or ()),
        published=collect_docker.published(client),
        ours=collect_docker.ours(client, needed.project) if needed.project else machine.ours,
        host=collect_host.host([needed.port] if engine.local else [], engine.root if engine.local else ""),
    )
    image = collect_docker.first_here(client, [*needed.engine_images, *(needed.images or ())])
    if needed.card is None or image is None:
        return machine
    programs = mps.PROGRAMS if needed.mps else ()
    return replace(machine, sight=collect_docker.sight(client, image, needed.access, needed.card, programs))


def access(places: Iterable[str], hub: Hub, http: httpx.Client) -> tuple[dict[str, Access], float | None]:
    """Whether this token may read the repositories, and how many seconds the Hub's clock is ahead of ours. Nothing is
    downloaded."""
    import httpx

    names = list(dict.fromkeys(places))
    try:
        answer = http.head(hub.api.endpoint, timeout=HUB_SECONDS)
    except httpx.HTTPError as error:
        why = f"{hub.api.endpoint} cannot be reached ({error or type(error).__name__})"
        away = Access("away", why, "look at the network and at HTTPS_PROXY, or give a folder as `source`")
        return dict.fromkeys(names, away), None
    with ThreadPoolExecutor(8) as pool:
        return dict(zip(names, pool.map(lambda name: _one(name, hub), names), strict=True)), _ahead(answer)


def _one(place: str, hub: Hub) -> Access:
    try:
        ask_hub(Source("hub", place), place, hub, lambda: hub.api.auth_check(place))
    except ModelFilesError as error:
        problem = error.problems[0]
        hint = "" if isinstance(error, UnreachableError) else problem.hint
        return Access("refused", problem.what, "; ".join(part for part in (problem.needed, hint) if part))
    return Access()


def _ahead(answer: httpx.Response) -> float | None:
    try:
        return (parsedate_to_datetime(answer.headers["date"]) - datetime.now(UTC)).total_seconds()
    except (KeyError, ValueError, TypeError):
        return None


def versions(environ: Mapping[str, str]) -> dict[str, str]:
    """What runs here, and its version; "unknown" where it does not answer in a short time."""
    asked: dict[str, Callable[[], str | None]] = {
        "monogpu-kit": lambda: __version__,
        "Python": platform.python_version,
        "OS": lambda: f"{platform.system()} {platform.release()} {platform.machine()}",
        "Docker": lambda: collect_docker.version(environ, VERSION_SECONDS),
        "Docker Compose": lambda: compose_version(environ),
        "NVIDIA driver": lambda: cards.ask_driver("0").driver,
    }
    return {name: _answer(ask) for name, ask in asked.items()}


def _answer(ask: Callable[[], str | None]) -> str:
    try:
        return ask() or UNKNOWN
    except Exception:  # whatever is wrong with it, it has no version
        return UNKNOWN
