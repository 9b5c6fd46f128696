"""What `doctor` asks Docker: the engine, the images, the ports, and whether a container sees the card."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal
from uuid import uuid4

from kit.compose import exec as inside
from kit.compose.client import is_local, translate_errors
from kit.compose.observe import containers, image_id
from kit.compose.observed import Publication, publications
from kit.diagnostics.docker_errors import explain
from kit.doctor.model import ContainerView, DaemonInfo, ImageState, OwnStack
from kit.errors import TargetError

if TYPE_CHECKING:
    from docker import DockerClient

SIGHT_SECONDS = 60
LOCAL = "monogpu/"  # images that no registry has
MISSING = "missing: "
PROBE = f'nvidia-smi -L; for each; do command -v "$each" > /dev/null || echo "{MISSING}$each"; done'


def engine(client: DockerClient) -> DaemonInfo:
    """Raises TargetError when Docker does not answer."""
    with translate_errors("Docker cannot be asked about itself"):
        return daemon_info(client.api.info(), datetime.now(UTC), is_local(client))


def daemon_info(info: Mapping[str, Any], now: datetime, local: bool) -> DaemonInfo:
    """The Engine's answer to GET /info. What it does not say stays unknown."""
    dirs = info.get("CDISpecDirs")
    try:
        ahead = (datetime.fromisoformat(str(info.get("SystemTime"))) - now).total_seconds()
    except (ValueError, TypeError):
        ahead = None
    return DaemonInfo(
        version=str(info.get("ServerVersion") or ""),
        cgroup=str(info.get("CgroupVersion") or ""),
        root=str(info.get("DockerRootDir") or ""),
        memory=info.get("MemTotal") or None,
        runtimes=frozenset(info.get("Runtimes") or ()),
        cdi=None if dirs is None else bool(dirs),
        ahead=ahead,
        local=local,
    )


def version(environ: Mapping[str, str], seconds: int) -> str:
    """The Engine's version. Raises docker's own errors."""
    import docker

    return str(docker.from_env(environment=dict(environ), timeout=seconds).version()["Version"])


def published(client: DockerClient) -> tuple[Publication, ...]:
    """The host ports that containers hold."""
    with translate_errors("the containers cannot be listed"):
        return tuple(port for entry in client.api.containers() for port in publications(entry))


def images(client: DockerClient, names: Iterable[str]) -> dict[str, ImageState]:
    """Whether each image is here, or in its registry."""
    return {name: _image(client, name) for name in names}


def _image(client: DockerClient, name: str) -> ImageState:
    from docker.errors import DockerException

    with translate_errors(f"the image {name} cannot be inspected"):
        if image_id(client, name) is not None:
            return ImageState(here=True)
    if name.startswith(LOCAL):
        return ImageState(here=False, pullable=False)
    try:
        client.api.inspect_distribution(name)  # type: ignore[no-untyped-call]
    except (DockerException, OSError) as error:
        said = str(getattr(error, "explanation", None) or error)
        known = explain(said)
        return ImageState(here=False, pullable=False, why=known.cause if known else said.strip())
    return ImageState(here=False, pullable=True)


def ours(client: DockerClient, project: str) -> OwnStack:
    """What runs of the project, and whether its downloads are there."""
    with translate_errors(f"what runs of {project} cannot be listed"):
        running = any(each.status == "running" for each in containers(client, project))
        pids = inside.pids(client, project) if running else {}
        volumes = {entry["Name"] for entry in client.api.volumes()["Volumes"] or ()}
    return OwnStack(
        running, frozenset(pid for listed in pids.values() for pid in listed), f"{project}_huggingface" in volumes
    )


def sight(
    client: DockerClient, image: str, access: Literal["nvidia", "cdi"], device: str, programs: Iterable[str] = ()
) -> ContainerView:
    """What `nvidia-smi -L` prints in a container of `image` that asks for the card as a worker does, and which of the
    `programs` it lacks. The container is removed."""
    from docker.errors import DockerException
    from docker.types import DeviceRequest

    wanted = f"nvidia.com/gpu={device}" if access == "cdi" else device
    names, made = tuple(programs), None
    entrypoint, command = (["/bin/sh", "-c"], [PROBE, "probe", *names]) if names else (["nvidia-smi"], ["-L"])
    try:
        made = client.containers.create(
            image, command, name=f"monogpu-doctor-{uuid4().hex[:8]}", entrypoint=entrypoint, network_mode="none",
            device_requests=[DeviceRequest(driver=access, device_ids=[wanted], capabilities=[["gpu"]])],
            cap_drop=["ALL"],
        )  # fmt: skip
        made.start()
        made.wait(timeout=SIGHT_SECONDS)
        return seen(image, made.logs().decode(errors="replace"))
    except (DockerException, OSError) as error:
        return ContainerView(image, error=str(getattr(error, "explanation", None) or error))
    finally:
        with contextlib.suppress(DockerException, OSError):
            if made is not None:
                made.remove(force=True)


def seen(image: str, printed: str) -> ContainerView:
    """What PROBE printed, as a value. Pure."""
    lines = printed.strip().splitlines()
    missing = tuple(line.removeprefix(MISSING) for line in lines if line.startswith(MISSING))
    return ContainerView(image, "\n".join(line for line in lines if not line.startswith(MISSING)), missing=missing)


def first_here(client: DockerClient, names: Iterable[str]) -> str | None:
    """The first of the images that is on this machine."""
    with contextlib.suppress(TargetError), translate_errors("images cannot be listed"):
        return next((name for name in names if image_id(client, name) is not None), None)
    return None
