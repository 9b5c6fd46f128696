"""Asks a running stack whether it does what its compose file promises, name by name.

`/health` and `/readiness` say nothing about models. So every declared name is asked for a token (or a vector), plain
and streamed; a name that nobody declared must be unknown; an adapter must answer otherwise than its base; and no
worker may be reachable from the host. A router that has just started is given time: it learns its workers one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kit.errors import Problem, TargetError
from kit.labels import ROLE, probes_of
from kit.routers.smg import KEY_FILE
from kit.stack import Probe
from kit.targets import compose
from kit.targets.spec import ProjectSpec, ServiceSpec
from kit.targets.wait import CLOCK, Clock
from kit.verify import asking, judge
from kit.verify.asking import Asker
from kit.verify.judge import Verdict

if TYPE_CHECKING:
    import httpx
    from docker import DockerClient

PATIENCE = 60.0  # seconds, for a router that has just started
ANSWER_SECONDS = 120.0  # for one answer; the first on a CPU is slow
CONNECT_SECONDS = 5.0
WORKER_PORT = 8000
KEY = "MONOGPU_API_KEY"  # in the router's environment, whatever the manifest calls it


@dataclass(frozen=True)
class Check:
    """One question: `name` is who was asked (a model's name, /v1/models, ...), `what` must be so, `ok` whether it is,
    `detail` the answer in words, `seconds` how long it took."""

    name: str
    what: str
    ok: bool
    detail: str
    seconds: float


@dataclass(frozen=True)
class Verification:
    """Everything that was asked at `url`; `left_out` says what could not be asked from here, and why."""

    url: str
    checks: tuple[Check, ...]
    left_out: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether every check is."""
        return all(check.ok for check in self.checks)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong, for a VerificationError."""
        return tuple(Problem(f"{check.name}: {check.what}", check.detail) for check in self.checks if not check.ok)

    def as_json(self) -> dict[str, Any]:
        """The report for programs."""
        checks = [{**asdict(check), "seconds": round(check.seconds, 3)} for check in self.checks]
        return {"ok": self.ok, "url": self.url, "checks": checks, "left_out": list(self.left_out)}


def run(
    folder: Path,
    environ: Mapping[str, str],
    url: str | None = None,
    client: DockerClient | None = None,
    *,
    transport: httpx.BaseTransport | None = None,
    clock: Clock = CLOCK,
    patience: float = PATIENCE,
) -> Verification:
    """Asks the stack of a folder's compose file, at `url` or where its router is published. With a Docker `client`
    also what only this host can tell. Raises TargetError when the file cannot be read."""
    import httpx

    project = compose.read(folder, environ)
    at = (url or url_of(project)).rstrip("/").removesuffix("/v1")
    probes = probes_from(project)
    timeout = httpx.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS)
    # A proxy for the outside world must not be asked for this machine.
    with httpx.Client(timeout=timeout, trust_env=url is not None, transport=transport) as http:
        checks = verify(at, probes, http, key_of(project), clock=clock, patience=patience)
        if client is None:
            return Verification(at, checks, NOT_ASKED)
        asker = Asker(http, at, key_of(project), clock, clock.now())
        return Verification(at, (*checks, *_from_this_host(project, probes, client, asker)))


def probes_from(project: ProjectSpec) -> tuple[Probe, ...]:
    """Every name that the workers' labels promise, once."""
    found: dict[str, Probe] = {}
    for service in project.services:
        for probe in probes_of(service.name, dict(service.labels)):
            found.setdefault(probe.name, probe)
    return tuple(found.values())


def url_of(project: ProjectSpec) -> str:
    """Where the router is published. Raises TargetError when it is not."""
    port = next((port for port in _router(project).ports if port.published), None)
    if port is None:
        raise TargetError(Problem("the router is not published", "say where it is reached: `verify --url`"))
    host = "127.0.0.1" if port.host_ip in ("", "0.0.0.0", "::") else port.host_ip
    return f"http://[{host}]:{port.published}" if ":" in host else f"http://{host}:{port.published}"


def key_of(project: ProjectSpec) -> str | None:
    """The key that clients must send, None without one. Raises TargetError when its file cannot be read."""
    router = _router(project)
    variables = dict(text.split("=", 1) for text in router.environment if "=" in text)
    file = next((mount for mount in router.mounts if mount.target == KEY_FILE), None)
    if file is None:
        return variables.get(KEY) or None
    try:
        return Path(file.source).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise TargetError(Problem(f"the key in {file.written} cannot be read", str(error))) from None


def _router(project: ProjectSpec) -> ServiceSpec:
    """The one that is published: where something stands in front of the router, both have the role."""
    found = [each for each in project.services if dict(each.labels).get(ROLE) == "router"]
    if not found:
        raise TargetError(Problem(f"{project.file.name} has no router", f"its label {ROLE} would say so"))
    return next((each for each in found if each.ports), found[0])


def verify(
    url: str,
    probes: tuple[Probe, ...],
    http: httpx.Client,
    key: str | None,
    *,
    clock: Clock = CLOCK,
    patience: float = PATIENCE,
) -> tuple[Check, ...]:
    """What any client can ask. `patience` is how many seconds a router that has just started is given, in all."""
    asker = Asker(http, url, key, clock, clock.now() + patience)
    return tuple(_checks(asker, probes))


def _checks(asker: Asker, probes: tuple[Probe, ...]) -> Iterator[Check]:
    names = {probe.name for probe in probes if probe.task != "infer"}
    yield _check(asker, "/v1/models", "lists the declared names", lambda: asking.models(asker, names))
    for probe in probes:
        for what, question in QUESTIONS.get(probe.task, ()):
            yield _check(asker, probe.name, what, partial(question, asker, probe.name))
    yield _check(asker, asking.MADE_UP, "is unknown", lambda: asking.unknown(asker))
    if asker.key and names:
        yield _check(asker, "without the key", "nothing is answered", lambda: asking.locked(asker, min(names)))
    ranked = [probe.name for probe in probes if probe.task in ("rerank", "classify")]
    if ranked:
        yield from _front(asker, ranked[0])
    yield from _adapters(asker, probes)


def _front(asker: Asker, name: str) -> Iterator[Check]:
    """What stands in front of the router has a list of names and a lock of its own."""
    yield _check(asker, asking.MADE_UP, "ranks nothing", lambda: asking.unranked(asker))
    if asker.key:
        yield _check(asker, "without the key", "nothing is ranked", lambda: asking.locked_ranking(asker, name))


def _adapters(asker: Asker, probes: tuple[Probe, ...]) -> Iterator[Check]:
    for base in dict.fromkeys(probe.base for probe in probes if probe.base):
        family = [probe for probe in probes if base in (probe.name, probe.base)]
        began = asker.clock.now()
        answers = {probe.name: asking.several(asker, probe.name, probe.task) for probe in family}
        seconds = (asker.clock.now() - began) / len(family)
        for probe in family:
            if probe.base:
                verdict = judge.judge_adapter(probe.name, answers)
                what = f"differs from {base} and its other adapters"
                yield Check(probe.name, what, verdict.ok, verdict.detail, seconds)


def _check(asker: Asker, name: str, what: str, question: Callable[[], Verdict]) -> Check:
    began = asker.clock.now()
    verdict = asker.settle(question)
    return Check(name, what, verdict.ok, verdict.detail, asker.clock.now() - began)


QUESTIONS: Mapping[str, tuple[tuple[str, Callable[[Asker, str], Verdict]], ...]] = {
    "generate": (("answers a token", asking.token), ("streams", asking.stream)),
    "embed": (("gives vectors", asking.vectors),),
    "rerank": (("ranks documents", asking.scores),),
    "classify": (("classifies", asking.classes),),
    "infer": (("gives tensors", asking.tensors),),
}


NOT_ASKED = ("whether workers are reachable: needs Docker",)


def _from_this_host(
    project: ProjectSpec, probes: tuple[Probe, ...], client: DockerClient, asker: Asker
) -> Iterator[Check]:
    running = compose.status(project.name, client)
    open_ports = {port.port: each.service for each in running if each.role != "router" for port in each.ports}
    yield _check(asker, "published ports", "are the router's alone", lambda: _published(open_ports))
    names = {probe.name for probe in probes}
    ours = {port.port for each in running if each.role == "router" for port in each.ports}
    for port in sorted({WORKER_PORT, *open_ports} - ours):
        yield _check(asker, f"127.0.0.1:{port}", "reaches no worker", partial(_reaches_no_worker, asker, port, names))


def _published(open_ports: Mapping[int, str]) -> Verdict:
    listed = ", ".join(f"{service}: {port}" for port, service in sorted(open_ports.items()))
    return Verdict(not open_ports, f"published too: {listed}" if listed else "no worker is published")


def _reaches_no_worker(asker: Asker, port: int, names: set[str]) -> Verdict:
    """Another program may well listen there; one that serves our names is a worker."""
    answer = judge.listed(*asker.get(f"http://127.0.0.1:{port}/v1/models"))
    served = sorted(names & answer)
    return Verdict(not served, f"{', '.join(served)} is served there" if served else "no worker answers")
