"""The Docker Engine through its SDK, with its errors as TargetError."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kit.compose.events import Pulling, Watch
from kit.diagnostics.docker_errors import explain
from kit.diagnostics.pattern import Pattern, first
from kit.errors import Problem, TargetError

if TYPE_CHECKING:
    from docker import DockerClient

SECONDS = 120  # for one answer of the Engine
OURS = "monogpu/"  # images that `scripts/build-images` builds
UNREACHABLE = (
    Pattern(
        r"Permission denied|PermissionError",
        "this user may not use Docker's socket",
        "`sudo usermod -aG docker $USER`, then log in again",
    ),
    Pattern(
        r"FileNotFoundError|No such file",
        "Docker's socket is not there: Docker is not installed, or not running",
        "`scripts/setup` installs and starts it",
    ),
    Pattern(
        r"Connection refused|ConnectionRefusedError",
        "nothing listens at Docker's socket: the daemon is down",
        "`sudo systemctl start docker`, or `scripts/setup`",
    ),
)
Layers = Mapping[str, tuple[int, int]]


def connect(environ: Mapping[str, str]) -> DockerClient:
    """A client of the Engine that DOCKER_HOST or Docker's context names. Raises TargetError when it does not answer."""
    import docker
    from docker.errors import DockerException

    try:
        client = docker.from_env(environment=dict(environ), timeout=SECONDS)
        client.ping()
    except (DockerException, OSError) as error:  # requests' errors are OSErrors; docker lets some through
        raise unreachable(str(error)) from None
    return client


def unreachable(message: str) -> TargetError:
    """Why no Engine answered, and what to do."""
    what = "Docker cannot be reached"
    if known := first(UNREACHABLE, message):
        return TargetError(Problem(what, known.cause, known.fix))
    return TargetError(Problem(what, "look at DOCKER_HOST and `docker context ls`"), evidence=message)


@contextmanager
def translate_errors(doing: str, hint: str = "") -> Iterator[None]:
    """Docker's errors inside become TargetErrors that begin with `doing` ("chat cannot be started")."""
    from docker.errors import DockerException
    from requests.exceptions import RequestException
    from urllib3.exceptions import HTTPError

    try:
        yield
    except DockerException as error:
        raise refused(doing, str(getattr(error, "explanation", None) or error), hint) from None
    except (RequestException, HTTPError) as error:  # docker lets its HTTP library's errors through
        went = Problem(doing, "Docker went away", "look at it: `docker info`")
        raise TargetError(went, evidence=str(error)) from None


def refused(doing: str, message: str, hint: str = "") -> TargetError:
    """`doing` failed, and Docker said why."""
    if known := explain(message):
        return TargetError(Problem(doing, known.cause, hint or known.fix), evidence=message.strip())
    return TargetError(Problem(doing, message.strip(), hint))


def is_local(client: DockerClient) -> bool:
    """Whether the Engine sees this machine's files and ports: it is reached by a socket, not over a network."""
    return client.api.base_url in ("http+docker://localhost", "http+docker://localnpipe")


def pull(client: DockerClient, image: str, watch: Watch) -> str:
    """Downloads `image`, with progress, and returns its id. Raises TargetError with the registry's message."""
    if image.startswith(OURS):
        build = f"`scripts/build-images` builds {image}"
        raise TargetError(Problem(f"the image {image} is not on this machine", "no registry has it", build))
    from docker.utils import parse_repository_tag

    repository, tag = parse_repository_tag(image)
    failed = f"{image} cannot be pulled"
    layers: Layers = {}
    watch(Pulling(image, 0, 0))
    with translate_errors(failed):
        for message in client.api.pull(repository, tag=tag or "latest", stream=True, decode=True):
            if "error" in message:
                raise refused(failed, str(message["error"]))
            layers = advance(layers, message)
            watch(Pulling(image, *progress(layers)))
        return str(client.images.get(image).id)


def advance(layers: Layers, message: Mapping[str, Any]) -> Layers:
    """Layer -> (bytes here, bytes in all), after one more message of the Engine. Unpacking counts as here."""
    layer, status, detail = message.get("id"), message.get("status", ""), message.get("progressDetail") or {}
    if not layer:
        return layers
    done, total = layers.get(layer, (0, 0))
    if status == "Downloading" and detail.get("total"):
        return {**layers, layer: (detail.get("current", 0), detail["total"])}
    if status in ("Download complete", "Pull complete", "Verifying Checksum"):
        return {**layers, layer: (total, total)}
    return {**layers, layer: (done, total)} if status == "Pulling fs layer" else layers


def progress(layers: Layers) -> tuple[int, int]:
    """Bytes here, and bytes in all, as far as the registry has reported."""
    return sum(done for done, _ in layers.values()), sum(total for _, total in layers.values())
