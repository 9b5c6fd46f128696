"""`bench`: controlled experiments on the stack, by `vllm bench serve` in containers beside it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from kit.bench.design import (
    ALL,
    AS_GIVEN,
    EFFORTS,
    BenchOptions,
    BenchRequest,
    Effort,
    Protocol,
)
from kit.bench.experiments import EXPERIMENTS
from kit.bench.experiments.policy import NOT_FOR_MANY
from kit.bench.journal import (
    BenchStarted,
    began,
)
from kit.bench.results_dir import ResultsDir
from kit.compose import up as compose
from kit.compose.operation import Operation
from kit.compose.stats import apart_from
from kit.errors import DoesNotFit, ManifestError, Problem, TargetError
from kit.gpu import Gpu
from kit.manifest.fields import POLICIES
from kit.output.console import Output
from kit.project.load import LIVE, Project, choose_gpu, planned_for, read_project

if TYPE_CHECKING:
    from docker import DockerClient

MOST_AT_ONCE = 100_000
GOODPUT = {"ttft": "ttft:500", "tpot": "tpot:50", "e2el": "e2el:5000"}  # in milliseconds


def run(output: Output, file: Path, options: BenchOptions) -> int:
    from kit.bench import session as benching
    from kit.project import apply

    names, effort, rates = _names(options.names), effort_of(options), _rates(options.rates)
    levels = _levels(options)
    _check_goodput(options.goodput)
    project = read_project(file)
    policies = _policies(options.policies, project.manifest.router.engine)
    client = compose.connect(output.environ)
    running = [one for one in compose.status(project.manifest.name, client) if one.status == "running"]
    files = ResultsDir.at(options.output or project.folder / "bench")
    gpu = as_before(None if options.again else began(files.records), _card(project, client))
    wish = BenchRequest(planned_for(project, gpu), effort, options.model, options.goodput, rates, policies, levels)
    protocols = [that_plans(EXPERIMENTS[name].protocol(wish), project, gpu) for name in names]
    if running and not options.restart:
        refuse_changes(apply.pending(project, client, output.environ).starting_or_ending)
        protocols = [without_restart(protocol) for protocol in protocols]
    session = benching.Session(output, file, project, client, gpu, wish, options, bool(running))
    return benching.walk(session, protocols, files)


def _card(project: Project, client: DockerClient) -> Gpu:
    """The card as it would be without the project's own containers."""
    gpu = choose_gpu(project, None if project.manifest.gpu.device == "none" else LIVE)
    return apart_from(client, project.manifest.name, gpu)


def as_before(first: BenchStarted | None, gpu: Gpu) -> Gpu:
    """The card as it was when the benchmark began, while so much of it is free: what other programs give back
    meanwhile changes no stack's size, and a benchmark goes on where it was."""
    before = first.free_bytes if first else 0
    return replace(gpu, free_bytes=before) if 0 < before < gpu.free_bytes and gpu.kind == "cuda" else gpu


def refuse_changes(operations: Sequence[Operation]) -> None:
    """A stack that serves is measured as it runs, and not brought up to date first. Raises TargetError."""
    if operations:
        names = ", ".join(dict.fromkeys(one.name for one in operations))
        what = f"what runs is not what the manifest says: {names}"
        raise TargetError(Problem(what, "`monogpu-kit up` brings it up to date; with --restart bench does it"))


def _check_goodput(words: Sequence[str]) -> None:
    for word in words:
        name, _, limit = word.partition(":")
        if name not in GOODPUT or not re.fullmatch(r"\d+(\.\d+)?", limit) or not float(limit):
            raise ManifestError(Problem(f"--goodput {word} cannot be read", f"needed: {', '.join(GOODPUT.values())}"))
    if len({word.partition(":")[0] for word in words}) < len(words):
        raise ManifestError(Problem("--goodput says one limit twice", "needed: each of them once"))


def _names(asked: str) -> list[str]:
    names = list(EXPERIMENTS) if asked == ALL else [name for name in asked.split(",") if name]
    unknown = [name for name in names if name not in EXPERIMENTS]
    if unknown or not names:
        known = ", ".join([ALL, *EXPERIMENTS])
        hint = f"the manifest comes second: bench {ALL} {asked}" if asked.endswith((".yaml", ".yml")) else ""
        raise ManifestError(Problem(f"'{', '.join(unknown)}' is no experiment", f"needed: {known}", hint))
    return list(dict.fromkeys(names))


def effort_of(options: BenchOptions) -> Effort:
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


def _levels(options: BenchOptions) -> tuple[int, ...]:
    words = [word for word in options.levels.split(",") if word]
    if not all(word.isdecimal() and 0 < int(word) < MOST_AT_ONCE for word in words):
        what = f"--levels {options.levels} cannot be read"
        raise ManifestError(Problem(what, "needed: requests at once, such as 1,8,48"))
    if words and options.rates:
        raise ManifestError(Problem("--levels and --rates say two kinds of sweep", "needed: one of them"))
    return tuple(sorted({int(word) for word in words}))


def _rates(text: str) -> tuple[float, ...]:
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
