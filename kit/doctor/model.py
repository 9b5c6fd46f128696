"""A machine, what a manifest requires of it, and what is found, as values. None is unknown. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from kit.compose.observed import Publication
from kit.compose.preflight import Listener
from kit.gpu import Gpu
from kit.manifest.validators import is_loopback

Severity = Literal["ok", "warn", "fail", "unknown"]


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
    are the programs of the driver that it does not have."""

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


@dataclass(frozen=True)
class Access:
    """What the Hub says of a repository: "" it may be read, away: it does not answer; `what` and `fix` say why not."""

    state: Literal["", "away", "refused"] = ""
    what: str = ""
    fix: str = ""


@dataclass(frozen=True)
class Machine:
    """What was seen. `refused` says why there is no engine (what, fix), `no_card` why there is no card; `compute_mode`
    is NVML's (default, exclusive_process, prohibited); `hub_ahead` is how many seconds the Hub's clock is ahead;
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


@dataclass(frozen=True)
class Requirements:
    """`card` and `access` are the manifest's gpu.device and gpu.access, None when it serves on the CPU, then `memory`
    is what the models may have of the host's. `images` maps images to what runs in them; `engine_images` are the
    workers'. `repositories` are to be downloaded: place -> bytes of its weights, None where no facts say;
    `folders` are mounted. `variables` maps what must be set to what uses it."""

    project: str = ""
    card: str | None = None
    access: Literal["nvidia", "cdi"] = "nvidia"
    mps: bool = False
    reserve: int | None = None
    memory: int | None = None
    bind: str = "127.0.0.1"
    port: int = 30000
    images: Mapping[str, str] | None = None
    engine_images: tuple[str, ...] = ()
    workers: int = 0
    largest: int | None = None  # bytes of the largest checkpoint, which passes the host's memory while it loads
    repositories: Mapping[str, int | None] | None = None
    folders: tuple[str, ...] = ()
    variables: Mapping[str, str] | None = None
    key: bool = False
    key_file: str | None = None
    user_is_root: bool = True  # of the workers' containers

    @property
    def open(self) -> bool:
        """Whether other machines reach the endpoint."""
        return not is_loopback(self.bind)


@dataclass(frozen=True)
class Finding:
    """What was checked is the `subject`, and `what` is so. `fail` stops the stack, `warn` may; `fix` is a command or a
    key of the manifest, "" where nothing is to be done."""

    subject: str
    severity: Severity
    what: str
    fix: str = ""
