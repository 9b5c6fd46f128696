"""Docker itself, Compose, and the images. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from kit.compose.config_keys import OLDEST_COMPOSE
from kit.doctor.model import Finding, ImageState, Machine, Requirements
from kit.units import release, release_text

OLDEST_ENGINE = (20, 10)
CDI_ENGINE = (25, 0)
OURS = "monogpu/"  # images that scripts/build-images makes; no registry has them


def docker(machine: Machine, wants: Requirements) -> Iterator[Finding]:
    """The daemon answers, and is new enough."""
    engine = machine.engine
    if engine is None:
        yield Finding("docker", "fail", *machine.refused)
        return
    found = release(engine.version)
    words = f"Engine {engine.version}" + (f", cgroup v{engine.cgroup}" if engine.cgroup else "")
    if found is None:
        yield Finding("docker", "unknown", "the engine does not say its version", "docker version")
    elif found < OLDEST_ENGINE:
        yield Finding("docker", "fail", f"{words}; needed: 20.10 or newer", "https://docs.docker.com/engine/install/")
    elif wants.card is not None and wants.access == "cdi" and found < CDI_ENGINE:
        yield Finding(
            "docker", "fail", f"{words}; gpu.access: cdi needs 25 or newer", "https://docs.docker.com/engine/install/"
        )
    else:
        yield Finding("docker", "ok", words if engine.local else f"{words}, on another machine")


def compose(machine: Machine, wants: Requirements) -> Iterator[Finding]:
    """Compose reads the project's files for `up`."""
    install = "apt-get install docker-compose-plugin"
    if machine.compose is None:
        yield Finding(
            "compose", "fail", "Docker Compose, which reads the compose files for `up`, is not installed", install
        )
        return
    found = release(machine.compose)
    if found is not None and found < OLDEST_COMPOSE:
        yield Finding(
            "compose", "fail", f"Compose {machine.compose}; needed: {release_text(OLDEST_COMPOSE)} or newer", install
        )
    else:
        yield Finding("compose", "ok", f"Compose {machine.compose}")


def images(machine: Machine, wants: Requirements) -> Iterator[Finding]:
    """Each image is on this machine, or can be pulled."""
    for name, user in (wants.images or {}).items():
        yield _image(name, user, machine.images.get(name))


def _image(name: str, user: str, seen: ImageState | None) -> Finding:
    if seen is None:
        return Finding("image", "unknown", f"{name} ({user}) was not checked", f"docker pull {name}")
    if seen.here:
        return Finding("image", "ok", f"{name} ({user}) is on this machine")
    if name.startswith(OURS):
        return Finding("image", "fail", f"{name} ({user}) is not on this machine", "scripts/build-images")
    if seen.pullable:
        return Finding("image", "ok", f"{name} ({user}) is not on this machine; `up` pulls it", f"docker pull {name}")
    why = f": {seen.why}" if seen.why else ""
    return Finding(
        "image", "fail", f"{name} ({user}) is not on this machine, and cannot be pulled{why}", f"docker pull {name}"
    )
