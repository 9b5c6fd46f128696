"""`bench`: controlled experiments on the stack, with `vllm bench serve` in containers beside it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from kit.bench import session
from kit.bench.design import ALL, AS_GIVEN, EFFORTS, BenchOptions, BenchRequest, Effort, Protocol
from kit.bench.experiments import EXPERIMENTS
from kit.bench.experiments.policy import NOT_FOR_MANY
from kit.bench.journal import BenchStarted, bench_started
from kit.bench.results_dir import ResultsDir
from kit.bench.steps import Session
from kit.compose import up as compose
from kit.compose.operation import Operation
from kit.compose.stats import apart_from
from kit.errors import DoesNotFit, ManifestError, Problem, TargetError
from kit.gpu import Gpu
from kit.manifest.fields import POLICIES
from kit.output.console import Output
from kit.project import apply
from kit.project.load import LIVE, Project, choose_gpu, planned_for, read_project

if TYPE_CHECKING:
    from docker import DockerClient

MOST_AT_ONCE = 100_000
GOODPUT = {"ttft": "ttft:500", "tpot": "tpot:50", "e2el": "e2el:5000"}  # in milliseconds


def run(output: Output, file: Path, options: BenchOptions) -> int:
    names, effort, rates, levels = _names(options.names), effort_of(options), _rates(options), levels_of(options)
    _check_goodput(options.goodput)
    project = read_project(file)
    policies = _policies(options.policies, project.manifest.router.engine)
    client = compose.connect(output.environ)
    running = any(one.status == "running" for one in compose.status(project.manifest.name, client))
    files = ResultsDir.at(options.output or project.folder / "bench")
    gpu = as_before(None if options.fresh else bench_started(files.records), _card(project, client))
    plan = planned_for(project, gpu)
    request = BenchRequest(plan, effort, options.model, options.goodput, rates, policies, levels)
    protocols = [that_plans(EXPERIMENTS[name].protocol(request), project, gpu) for name in names]
    if running and not options.allow_restart:
        refuse_changes(apply.pending(project, client, output.environ).starting_or_ending)
        protocols = [without_restart(protocol) for protocol in protocols]
    made = Session(output, file, project, client, gpu, request, options, running)
    return session.run(made, protocols, files)


def _card(project: Project, client: DockerClient) -> Gpu:
    """The card as it would be without the project's own containers."""
    gpu = choose_gpu(project, None if project.manifest.gpu.device == "none" else LIVE)
    return apart_from(client, project.manifest.name, gpu)


def as_before(first: BenchStarted | None, gpu: Gpu) -> Gpu:
    """The card as it was when the benchmark started, while so much of it is free: memory that other programs release
    meanwhile changes no stack's size, and a benchmark resumes as it was."""
    before = first.free_bytes if first else 0
    return replace(gpu, free_bytes=before) if 0 < before < gpu.free_bytes and gpu.kind == "cuda" else gpu


def refuse_changes(operations: Sequence[Operation]) -> None:
    """A stack that serves is measured as it runs, and not brought up to date first. Raises TargetError."""
    if operations:
        names = ", ".join(dict.fromkeys(one.name for one in operations))
        what = f"the running stack differs from the manifest: {names}"
        raise TargetError(Problem(what, "`monogpu-kit up` brings it up to date; with --allow-restart bench does it"))


def _split(text: str) -> list[str]:
    return [word for word in text.split(",") if word]


def _numbers(text: str, kind: Callable[[str], float], most: float, refused: Problem) -> tuple[float, ...]:
    """The numbers between 0 and `most` of a list with commas."""
    try:
        found = tuple(dict.fromkeys(kind(word) for word in _split(text)))
    except ValueError:
        raise ManifestError(refused) from None
    if not all(0 < number < most for number in found):
        raise ManifestError(refused)
    return found


def _check_goodput(limits: Iterable[str]) -> None:
    names = []
    for text in limits:
        name, _, limit = text.partition(":")
        names.append(name)
        if name not in GOODPUT or not re.fullmatch(r"\d+(\.\d+)?", limit) or not float(limit):
            raise ManifestError(Problem(f"--goodput {text} cannot be read", f"needed: {', '.join(GOODPUT.values())}"))
    if len(set(names)) < len(names):
        raise ManifestError(Problem("--goodput has one limit twice", "needed: each of them once"))


def _names(given: str) -> list[str]:
    names = list(EXPERIMENTS) if given == ALL else _split(given)
    unknown = [name for name in names if name not in EXPERIMENTS]
    if unknown or not names:
        known = ", ".join([ALL, *EXPERIMENTS])
        hint = f"the manifest comes second: bench {ALL} {given}" if given.endswith((".yaml", ".yml")) else ""
        raise ManifestError(Problem(f"'{', '.join(unknown)}' is no experiment", f"needed: {known}", hint))
    return list(dict.fromkeys(names))


def effort_of(options: BenchOptions) -> Effort:
    """The profile's effort, with the options that change it."""
    if options.profile not in EFFORTS:
        raise ManifestError(Problem(f"--profile {options.profile} is not known", f"needed: {', '.join(EFFORTS)}"))
    effort, n = EFFORTS[options.profile], options.rounds
    if n is not None:
        effort = replace(effort, rounds=n, restarts=n, inner=1, starts=n)
    return replace(
        effort,
        starts=effort.starts if options.starts is None else options.starts,
        seconds=effort.seconds if options.seconds is None else options.seconds,
        concurrency=max(_concurrency(options), default=effort.concurrency),
    )


def levels_of(options: BenchOptions) -> tuple[int, ...]:
    """The steps of a sweep: several values of --concurrency. One alone is the most that any load sends at once."""
    levels = sorted(_concurrency(options))
    if len(levels) > 1 and options.rates:
        what = f"--concurrency {options.concurrency} and --rates are two kinds of sweep"
        raise ManifestError(Problem(what, "needed: one of them, or a single --concurrency"))
    return tuple(levels) if len(levels) > 1 else ()


def _concurrency(options: BenchOptions) -> tuple[int, ...]:
    what = f"--concurrency {options.concurrency} cannot be read"
    needed = "needed: the most requests at once, such as 48, or the steps of a sweep, such as 1,8,48"
    return tuple(map(int, _numbers(options.concurrency, int, MOST_AT_ONCE, Problem(what, needed))))


def _rates(options: BenchOptions) -> tuple[float, ...]:
    problem = Problem(f"--rates {options.rates} cannot be read", "needed: requests a second, such as 1,2,4,8")
    return _numbers(options.rates, float, inf, problem)


def _policies(given: str, engine: str) -> tuple[str, ...]:
    known = [policy for policy in POLICIES[engine] if policy not in NOT_FOR_MANY]
    unknown = [policy for policy in _split(given) if policy not in known]
    if unknown:
        what = f"--policies {', '.join(unknown)} cannot be compared"
        raise ManifestError(Problem(what, f"needed: some of {', '.join(known)}"))
    return tuple(_split(given))


def without_restart(protocol: Protocol) -> Protocol:
    """Left out when it needs another stack than the one that serves."""
    if all(trial.variant.key == AS_GIVEN for trial in protocol.trials):
        return protocol
    return protocol.without_trials(
        "left out: it stops the running stack; --allow-restart allows that, and brings it back at the end"
    )


def that_plans(protocol: Protocol, project: Project, gpu: Gpu) -> Protocol:
    """Left out when one of its stacks does not fit: what is known before does not end a benchmark in its middle."""
    for variant in {trial.variant.key: trial.variant for trial in protocol.trials}.values():
        try:
            planned_for(replace(project, manifest=variant.manifest), gpu)
        except (DoesNotFit, ManifestError) as error:
            reason = error.problems[0].what
            return protocol.without_trials(f"left out: the stack '{variant.key}' cannot be planned: {reason}")
    return protocol
