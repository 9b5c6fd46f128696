"""The engines: a module each, which offers what `Engine` says, and one line in ENGINES."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from kit.engines import ollama, triton, vllm
from kit.errors import KeyPath
from kit.manifest.model import Model
from kit.manifest.validators import Refused
from kit.memory.bill import Plan, Share
from kit.memory.candidates import Candidate, WorkerRequest
from kit.stack.model import File, Probe, Route, Service


class Engine(Protocol):
    """What an engine's module offers; `defaults.nothing` stands for what it has none of. `kit.assemble` adds labels,
    the bill, the card and the boot order."""

    DEFAULT_IMAGE: str
    CPU_IMAGE: str
    PORT: int
    METRICS: str  # PORT/PATH of a worker's Prometheus metrics; "" where it has none
    PRICED: bool  # whether facts are read and `memory: auto` is planned; else the manifest says `memory:`
    NOTE: str  # what `plan` must say of each of its models; "" for nothing

    def refused(self, models: Sequence[tuple[int, Model]]) -> Iterable[tuple[KeyPath, Refused]]:
        """What this engine cannot do of what the manifest asks; `models` are its own, with their places."""

    def price(self, request: WorkerRequest) -> tuple[Candidate, ...]:
        """What a worker costs: the ways to run it, best first."""

    def service(self, share: Share, plan: Plan) -> Service:
        """The worker. Shares for which it has the same name are served by one."""

    def downloads(self, share: Share, plan: Plan) -> tuple[Service, ...]:
        """One-shot services that bring what the worker reads; of equal names only the first is kept."""

    def proxies(self, share: Share, plan: Plan) -> tuple[Service, ...]:
        """Services between the router and the worker; of equal names only the first is kept."""

    def files(self, share: Share, plan: Plan) -> tuple[File, ...]:
        """Files beside the compose file, which these services mount."""

    def routes(self, share: Share) -> tuple[Route, ...]:
        """The names that the router sends to this worker."""

    def probes(self, share: Share, plan: Plan) -> tuple[Probe, ...]:
        """What each of those names must answer."""


ENGINES: dict[str, Engine] = {"vllm": vllm, "ollama": ollama, "triton": triton}


def image_of(model: Model, on_cpu: bool) -> str:
    """The image that serves a model; it also says for which version of the engine to plan."""
    engine = ENGINES[model.engine]
    return model.image or (engine.CPU_IMAGE if on_cpu else engine.DEFAULT_IMAGE)
