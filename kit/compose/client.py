"""The door to the Docker Engine: a client, and its errors as TargetError, translated once, here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kit.diagnostics.docker_errors import explain
from kit.errors import Problem, TargetError

if TYPE_CHECKING:
    from docker import DockerClient

SECONDS = 120  # for one answer of the Engine


def connect(environ: Mapping[str, str]) -> DockerClient:
    """A client of the Engine that DOCKER_HOST or Docker's context names. Raises TargetError when nobody answers."""
    import docker
    from docker.errors import DockerException

    try:
        client = docker.from_env(environment=dict(environ), timeout=SECONDS)
        client.ping()
    except DockerException as error:
        raise unreachable(str(error)) from None
    except OSError as error:  # requests' errors are OSErrors; docker lets some through
        raise unreachable(str(error)) from None
    return client


def unreachable(said: str) -> TargetError:
    """Why no Engine answered, and what to do."""
    if "Permission denied" in said or "PermissionError" in said:
        needed = "this user may not use Docker's socket"
        return TargetError(
            Problem("Docker cannot be used", needed, "`sudo usermod -aG docker $USER`, then log in again")
        )
    if "FileNotFoundError" in said or "No such file" in said:
        needed = "Docker's socket is not there: Docker is not installed, or not running"
        return TargetError(Problem("Docker cannot be reached", needed, "`scripts/setup` installs and starts it"))
    if "Connection refused" in said or "ConnectionRefusedError" in said:
        needed = "nobody listens at Docker's socket: the daemon is down"
        return TargetError(
            Problem("Docker cannot be reached", needed, "`sudo systemctl start docker`, or `scripts/setup`")
        )
    return TargetError(
        Problem("Docker cannot be reached", "look at DOCKER_HOST and `docker context ls`"), evidence=said
    )


@contextmanager
def translate_errors(doing: str, hint: str = "") -> Iterator[None]:
    """Docker's errors inside become TargetErrors that begin with `doing` ("chat cannot be started")."""
    from docker.errors import APIError, DockerException
    from requests.exceptions import RequestException
    from urllib3.exceptions import HTTPError

    try:
        yield
    except APIError as error:
        raise refused(doing, str(error.explanation or error), hint) from None
    except DockerException as error:
        raise refused(doing, str(error), hint) from None
    except (RequestException, HTTPError) as error:  # docker lets its HTTP library's errors through
        went = Problem(doing, "Docker went away", "look at it: `docker info`")
        raise TargetError(went, evidence=str(error)) from None


def refused(doing: str, said: str, hint: str = "") -> TargetError:
    """`doing` failed, and Docker said why."""
    known = explain(said)
    if known is None:
        return TargetError(Problem(doing, said.strip(), hint))
    return TargetError(Problem(doing, known.cause, hint or known.fix), evidence=said.strip())


def is_local(client: DockerClient) -> bool:
    """Whether the Engine sees this machine's files and ports: it is reached by a socket, not over a network."""
    return client.api.base_url in ("http+docker://localhost", "http+docker://localnpipe")
