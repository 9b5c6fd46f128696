"""Manifest and facts -> workers with their price lists, and what no card could serve. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from kit.engines import ENGINES
from kit.errors import ManifestError, Problem
from kit.facts.facts import AdapterFacts, Facts
from kit.gpu import Gpu
from kit.manifest.model import Manifest, Model
from kit.memory.bill import Line
from kit.memory.candidates import Candidate, Worker, WorkerRequest
from kit.memory.worker import Measured
from kit.planner.refusals import impossible


@dataclass(frozen=True)
class PlanInput:
    """Everything a plan is made from. `facts` and `adapters` are keyed by source text, `locks` by service,
    `images` by model name: the image it will run in. Models of engines that read no facts have none."""

    manifest: Manifest
    facts: Mapping[str, Facts]
    gpu: Gpu
    adapters: Mapping[str, AdapterFacts] = field(default_factory=dict)
    locks: Mapping[str, Measured] = field(default_factory=dict)
    images: Mapping[str, str] = field(default_factory=dict)

    def with_models(self, models: Iterable[Model]) -> PlanInput:
        """The same with other models in the manifest."""
        return replace(self, manifest=self.manifest.model_copy(update={"models": tuple(models)}))


def workers_of(inputs: PlanInput) -> tuple[Worker, ...]:
    """One worker a replica, in the manifest's order. Raises ManifestError with every value no card could serve."""
    problems: list[Problem] = []
    made: list[Worker] = []
    for index, model in enumerate(inputs.manifest.models):
        facts = inputs.facts[model.source] if ENGINES[model.engine].PRICED else None
        found = list(impossible(index, model, facts, inputs.images.get(model.name, "")))
        problems += found
        made += [] if found else _replicas(inputs, index, model, facts)
    if problems:
        raise ManifestError(problems)
    return tuple(made)


def _replicas(inputs: PlanInput, index: int, model: Model, facts: Facts | None) -> list[Worker]:
    rank = max((inputs.adapters[a.source].rank for a in model.adapters if a.source in inputs.adapters), default=16)
    image = inputs.images.get(model.name, "")
    made = ENGINES[model.engine].price(WorkerRequest(model, facts, inputs.gpu, image, rank if model.adapters else 0))
    return [
        Worker(name, index, n, model, facts, _locked(made, inputs.locks.get(name), index))
        for n, name in enumerate(services_of(model))
    ]


def services_of(model: Model) -> list[str]:
    """The names of a model's workers: its own, and name-2, name-3 for further replicas."""
    return [model.name, *(f"{model.name}-{n}" for n in range(2, model.replicas + 1))]


def _locked(made: tuple[Candidate, ...], lock: Measured | None, index: int) -> tuple[Candidate, ...]:
    """A measured worker is priced by its measurement, on the one candidate that was measured. The lines that are exact
    stay as they are; one line says what the rest was measured to be."""
    if lock is None:
        return made
    for candidate in made:
        if candidate.setting.measured == lock.settings:
            return (replace(candidate, lines=_measured_lines(candidate, lock)),)
    raise ManifestError(
        Problem(
            f"monogpu.lock.yaml was measured with {lock.settings}, and the manifest says {made[0].setting.measured}",
            "`monogpu-kit calibrate` measures again; or remove monogpu.lock.yaml",
            path=("models", index),
        )
    )


def _measured_lines(candidate: Candidate, lock: Measured) -> tuple[Line, ...]:
    context = Line("context", lock.context_bytes, "one CUDA context; part of what was measured")
    exact = [line for line in candidate.lines if line.kind in ("weights", "sampler")]
    rest = lock.rest_bytes - lock.context_bytes - sum(line.bytes for line in exact)
    if rest < 0:
        return (Line("measured", lock.rest_bytes - lock.context_bytes, lock.why), context)
    return (*exact, Line("measured_rest", rest, lock.why), context)
