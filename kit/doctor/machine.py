"""What a machine looks like, as values. None is what nobody could see. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from kit.compose.observed import Publication
from kit.compose.preflight import Listener
from kit.gpu import Gpu


@dataclass(frozen=True)
class DaemonInfo:
    """The Docker Engine. `memory` is what containers may have in all, in bytes; `cdi` whether it takes CDI devices;
    `ahead` is how many seconds its clock is ahead of ours; `local` whether it sees this machine's files and ports."""

    version: str = ""
    cgroup: str = ""
    root: str = ""
    memory: int | None = None
    runtimes: frozenset[str] = frozenset()
    cdi: bool | None = None
    ahead: float | None = None
    local: bool = True


@dataclass(frozen=True)
class ImageState:
    """Whether an image is `here`, and else whether the registry has it for us; `why` not, in Docker's words."""

    here: bool
    pullable: bool | None = None
    why: str = ""


@dataclass(frozen=True)
class ContainerView:
    """What a container of `image` that asked for the card saw: `nvidia-smi -L`'s output, or Docker's words; `missing`
    are the programs of the driver that were looked for in vain."""

    image: str
    output: str = ""
    error: str = ""
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class OwnStack:
    """What runs of the manifest's project already: its processes on this host, and whether anything runs."""

    running: bool = False
    pids: frozenset[int] = frozenset()
    downloads: bool = False  # its volume with downloaded weights is there


@dataclass(frozen=True)
class KeyFile:
    """The file of `router.api_key_file`: its mode, and whether others may enter its folder. Its text is not kept."""

    there: bool
    mode: int = 0
    folder_open: bool = False
    length: int = 0


@dataclass(frozen=True)
class Host:
    """This machine apart from Docker. Memory in bytes, `limit` is what a cgroup leaves of it; `kernel` is its release;
    `containered`: the kit runs inside a container; `mps` are the pids of NVIDIA's MPS daemons and servers; `root_free`
    is free space where Docker keeps images and volumes."""

    memory: int | None = None
    available: int | None = None
    root_free: int | None = None
    kernel: str = ""
    containered: bool = False
    mps: frozenset[int] = frozenset()
    listeners: tuple[Listener, ...] = ()
    limit: int | None = None


HubWord = Literal["", "away", "refused"]


@dataclass(frozen=True)
class Access:
    """What the Hub says of a repository: "" it may be read, away: it does not answer; `what` and `fix` say why not."""

    word: HubWord = ""
    what: str = ""
    fix: str = ""


@dataclass(frozen=True)
class Machine:
    """One look. `refused` says why there is no engine (what, fix), `no_card` why there is no card; `compute_mode` is
    NVML's (default, exclusive_process, prohibited); `hub_ahead` is how many seconds the Hub's clock is ahead of ours;
    `set` holds the names of variables that are set, in the environment or in .env; `unreadable` maps a model's folder
    to the first file in it that a container's user may not read, None when it may read all."""

    engine: DaemonInfo | None = None
    refused: tuple[str, str] = ("Docker does not answer", "docker version")
    compose: str | None = None
    images: Mapping[str, ImageState] = field(default_factory=dict)
    published: tuple[Publication, ...] = ()
    ours: OwnStack = OwnStack()
    card: Gpu | None = None
    no_card: str = ""
    compute_mode: str | None = None
    sight: ContainerView | None = None
    host: Host = Host()
    hub: Mapping[str, Access] = field(default_factory=dict)
    hub_ahead: float | None = None
    set: frozenset[str] = frozenset()
    dotenv: frozenset[str] = frozenset()
    dotenv_mode: int | None = None
    key_file: KeyFile | None = None
    key_length: int | None = None
    unreadable: Mapping[str, str | None] = field(default_factory=dict)


def engine(info: Mapping[str, Any], now: datetime, local: bool) -> DaemonInfo:
    """The Engine's answer to GET /info. What it does not say stays unknown."""
    dirs = info.get("CDISpecDirs")
    return DaemonInfo(
        version=str(info.get("ServerVersion") or ""),
        cgroup=str(info.get("CgroupVersion") or ""),
        root=str(info.get("DockerRootDir") or ""),
        memory=info.get("MemTotal") or None,
        runtimes=frozenset(info.get("Runtimes") or ()),
        cdi=None if dirs is None else bool(dirs),
        ahead=_ahead(info.get("SystemTime"), now),
        local=local,
    )


def _ahead(said: object, now: datetime) -> float | None:
    """`2026-11-29T22:44:43.254511171Z` -> seconds ahead of `now`."""
    try:
        there = datetime.fromisoformat(str(said))
    except ValueError:
        return None
    return None if there.tzinfo is None else (there - now).total_seconds()
