"""Manifest and facts -> workers with their price lists, and what no card could serve. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from kit.engines import ENGINES, none_for
from kit.errors import ManifestError, Problem
from kit.facts.facts import AdapterFacts, Facts
from kit.gpu import Gpu
from kit.manifest.model import Manifest, Model
from kit.memory.bill import Line
from kit.memory.candidates import (
    Candidate,
    Worker,
    WorkerRequest,
)
from kit.memory.flags import read_flags
from kit.memory.worker import Measured

EXACT = ("weights", "sampler")


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


def workers_of(asked: PlanInput) -> tuple[Worker, ...]:
    """One worker a replica, in the manifest's order. Raises ManifestError with every value no card could serve."""
    problems: list[Problem] = []
    made: list[Worker] = []
    for index, model in enumerate(asked.manifest.models):
        if model.engine not in ENGINES:
            problems.append(none_for(index, model))
            continue
        facts = asked.facts[model.source] if ENGINES[model.engine].PRICED else None
        found = _impossible(index, model, facts) if facts else []
        problems += found
        if found:
            continue
        made += _replicas(asked, index, model, facts)
    if problems:
        raise ManifestError(problems)
    return tuple(made)


def _replicas(asked: PlanInput, index: int, model: Model, facts: Facts | None) -> list[Worker]:
    rank = max((asked.adapters[a.source].rank for a in model.adapters if a.source in asked.adapters), default=16)
    image = asked.images.get(model.name, "")
    made = ENGINES[model.engine].price(WorkerRequest(model, facts, asked.gpu, image, rank if model.adapters else 0))
    return [
        Worker(name, index, n, model, facts, _locked(made, asked.locks.get(name), index))
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
        if candidate.said() == lock.setting:
            return (replace(candidate, lines=_measured_lines(candidate, lock)),)
    raise ManifestError(
        Problem(
            f"monogpu.lock.yaml was measured with {lock.setting}, and the manifest says {made[0].said()}",
            "`monogpu-kit calibrate` measures again; or remove monogpu.lock.yaml",
            path=("models", index),
        )
    )


def _measured_lines(candidate: Candidate, lock: Measured) -> tuple[Line, ...]:
    context = Line("context", lock.context_bytes, "one CUDA context; part of what was measured")
    exact = [line for line in candidate.lines if line.what in EXACT]
    rest = lock.rest_bytes - lock.context_bytes - sum(line.bytes for line in exact)
    if rest < 0:
        return (Line("measured", lock.rest_bytes - lock.context_bytes, lock.why), context)
    return (*exact, Line("measured rest", rest, lock.why), context)


def _impossible(index: int, model: Model, facts: Facts) -> list[Problem]:
    """What no memory fixes: a context beyond the model's own, a task it cannot do."""
    found: list[Problem] = []
    if model.context != "auto" and facts.max_position and model.context > facts.max_position:
        found.append(
            Problem(
                f"'{model.name}' takes at most {facts.max_position} tokens, asked for {model.context}",
                f"needed: context {facts.max_position} or less (its config.json says max_position_embeddings)",
                path=("models", index, "context"),
            )
        )
    if read_flags(model.args).speculative is not None:
        found.append(
            Problem(
                f"'{model.name}' asks for speculative decoding, whose draft model no bill here knows",
                "needed: leave --speculative-config out",
                path=("models", index, "args"),
            )
        )
    if facts.quantization == "bitsandbytes":
        found.append(
            Problem(
                f"'{model.name}' is quantised with bitsandbytes, which vLLM no longer serves",
                "needed: a checkpoint in AWQ, GPTQ, FP8 or full precision",
                path=("models", index, "source"),
            )
        )
    return found
