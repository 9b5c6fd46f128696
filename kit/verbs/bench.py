"""`bench`: controlled experiments on the stack, by `vllm bench serve` in containers beside it."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from kit.bench.experiments import EXPERIMENTS
from kit.bench.experiments.policy import NOT_FOR_MANY
from kit.bench.trials import AS_GIVEN, EFFORTS, Effort, Protocol, Wish
from kit.errors import DoesNotFit, ManifestError, Problem
from kit.gpu import Gpu
from kit.rules import POLICIES
from kit.targets import compose, held
from kit.verbs.inputs import LIVE, Project, choose_gpu, planned_for, read_project
from kit.verbs.output import Output

if TYPE_CHECKING:
    from docker import DockerClient

ALL = "all"


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    names: str = ALL
    profile: str = "standard"
    output: Path | None = None
    model: str = ""
    goodput: tuple[str, ...] = ()
    rates: str = ""
    policies: str = ""
    concurrency: int | None = None
    seconds: float | None = None
    rounds: int | None = None
    starts: int | None = None
    restart: bool = False
    again: bool = False
    timeout: float = 3600.0


def run(output: Output, file: Path, options: Options) -> int:
    from kit.verbs import benching

    names, effort, rates = _names(options.names), effort_of(options), _numbers(options.rates)
    project = read_project(file)
    policies = _policies(options.policies, project.manifest.router.engine)
    client = compose.connect(os.environ)
    running = [one for one in compose.status(project.manifest.name, client) if one.state == "running"]
    gpu = _card(project, client)
    wish = Wish(planned_for(project, gpu), effort, options.model, options.goodput, rates, policies)
    protocols = [that_plans(EXPERIMENTS[name].protocol(wish), project, gpu) for name in names]
    if running and not options.restart:
        protocols = [without_restart(protocol) for protocol in protocols]
    session = benching.Session(output, file, project, client, gpu, wish, options, bool(running))
    return benching.walk(session, protocols)


def _card(project: Project, client: DockerClient) -> Gpu:
    """The card as it would be without the project's own containers."""
    gpu = choose_gpu(project, None if project.manifest.gpu.device == "none" else LIVE)
    return held.apart_from(client, project.manifest.name, gpu)


def _names(asked: str) -> list[str]:
    names = list(EXPERIMENTS) if asked == ALL else [name for name in asked.split(",") if name]
    unknown = [name for name in names if name not in EXPERIMENTS]
    if unknown or not names:
        known = ", ".join([ALL, *EXPERIMENTS])
        hint = f"the manifest comes second: bench {ALL} {asked}" if asked.endswith((".yaml", ".yml")) else ""
        raise ManifestError(Problem(f"'{', '.join(unknown)}' is no experiment", f"needed: {known}", hint))
    return list(dict.fromkeys(names))


def effort_of(options: Options) -> Effort:
    if options.profile not in EFFORTS:
        raise ManifestError(Problem(f"--profile {options.profile} is not known", f"needed: {', '.join(EFFORTS)}"))
    effort = EFFORTS[options.profile]
    if options.rounds is not None:
        n = options.rounds
        effort = replace(effort, rounds=n, restarts=n, inner=1, starts=n)
    if options.starts is not None:
        effort = replace(effort, starts=options.starts)
    if options.seconds is not None:
        effort = replace(effort, seconds=options.seconds)
    return effort if options.concurrency is None else replace(effort, concurrency=options.concurrency)


def _numbers(text: str) -> tuple[float, ...]:
    try:
        found = [float(word) for word in text.split(",") if word]
    except ValueError:
        found = [0.0]
    if not all(0 < number < inf for number in found):
        raise ManifestError(Problem(f"--rates {text} cannot be read", "needed: requests a second, such as 1,2,4,8"))
    return tuple(dict.fromkeys(found))


def _policies(text: str, engine: str) -> tuple[str, ...]:
    asked = tuple(word for word in text.split(",") if word)
    known = [policy for policy in POLICIES[engine] if policy not in NOT_FOR_MANY]
    unknown = [policy for policy in asked if policy not in known]
    if unknown:
        what = f"--policies {', '.join(unknown)} cannot be compared"
        raise ManifestError(Problem(what, f"needed: some of {', '.join(known)}"))
    return asked


def without_restart(protocol: Protocol) -> Protocol:
    """What needs another stack is left out while the user's one serves."""
    if all(trial.stand.key == AS_GIVEN for trial in protocol.trials):
        return protocol
    return _left_out(protocol, "it stops the stack that runs now; --restart allows that, and brings it back at the end")


def that_plans(protocol: Protocol, project: Project, gpu: Gpu) -> Protocol:
    """Left out when a stack of it does not fit: what can be known before does not end a benchmark in its middle."""
    for stand in {trial.stand.key: trial.stand for trial in protocol.trials}.values():
        try:
            planned_for(replace(project, manifest=stand.manifest), gpu)
        except (DoesNotFit, ManifestError) as error:
            return _left_out(protocol, f"the stack '{stand.key}' cannot be planned: {error.problems[0].what}")
    return protocol


def _left_out(protocol: Protocol, why: str) -> Protocol:
    return replace(protocol, trials=(), views=(), remarks=(*protocol.remarks, f"left out: {why}"))
