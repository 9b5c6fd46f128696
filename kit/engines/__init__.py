"""The engines: a module each, which offers what `Engine` says, and one line in ENGINES."""

from __future__ import annotations

from typing import Protocol

from kit.bill import Plan, Share
from kit.engines import vllm
from kit.errors import ManifestError, Problem
from kit.stack import Probe, Route, Service


class Engine(Protocol):
    """What an engine's module offers. Labels, the bill, the card and the boot order are added by `stack.assemble`."""

    DEFAULT_IMAGE: str
    CPU_IMAGE: str
    PORT: int

    def service(self, share: Share, plan: Plan) -> Service:
        """The worker."""

    def fetches(self, share: Share, plan: Plan) -> tuple[Service, ...]:
        """One-shot services that bring what the worker reads; of equal names only the first is kept."""

    def routes(self, share: Share) -> tuple[Route, ...]:
        """The names that the router sends to this worker."""

    def probes(self, share: Share) -> tuple[Probe, ...]:
        """What each of those names must answer."""


ENGINES: dict[str, Engine] = {"vllm": vllm}


def engine_of(plan: Plan, share: Share) -> Engine:
    """The engine's module. Raises ManifestError, at the model, for an engine that has none."""
    name = share.model.engine
    if name in ENGINES:
        return ENGINES[name]
    index = plan.manifest.models.index(share.model)
    needed = f"needed: one of {', '.join(sorted(ENGINES))}"
    raise ManifestError(Problem(f"the engine '{name}' cannot be served yet", needed, path=("models", index, "engine")))
