"""Protocols and records -> experiments: medians, spreads, verdicts, remarks. Pure; an unfinished benchmark gives what
is there.

With three to five runs of an arm nothing can be assumed of how they are distributed. So a verdict asks the simplest
question: do the ranges overlap? Where they do, the answer is "no difference", whatever the medians are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import median

from kit.bench.design import Better, Metric, Protocol, View, schedule
from kit.bench.journal import RunDone
from kit.bench.results import Arm, Comparison, Conclusion, Experiment, Figures, Run, VerdictOutcome
from kit.bench.vllm_results import together
from kit.routers import haproxy, smg

SIDE_BY_SIDE = 0.8
LEAST_RUNS = 3
PROXIES = (smg.NAME, haproxy.NAME)  # the services that a request passes on its way to a worker


def experiment(protocol: Protocol, done: Mapping[str, RunDone]) -> Experiment:
    """What an experiment has found so far: arms without a run are left out."""
    comparisons = [_comparison(view, protocol, done) for view in protocol.views]
    found = tuple(one for one in comparisons if one.arms)
    made = Experiment(protocol.name, protocol.question, protocol.varies, protocol.constant, found, protocol.remarks)
    runs = [(step, done[step.key]) for step in schedule(protocol) if step.key in done]
    alone = [run for step, run in runs if len(step.trial.loads) == 1]
    beside = [run for step, run in runs if len(step.trial.loads) > 1]
    seen = (*_failures([*alone, *beside]), *_overlaps(beside), *_router_cpu(protocol, done), *fairness(made))
    return replace(made, remarks=(*made.remarks, *seen))


def _comparison(view: View, protocol: Protocol, done: Mapping[str, RunDone]) -> Comparison:
    arms = (_arm(view, protocol, name, trial, x, done) for name, trial, x in view.arms)
    found = tuple(one for one in arms if one is not None)
    whole = view.kind == "arms" and len(found) > 1 and found[0].name == view.arms[0][0]
    verdicts = tuple(verdict(one, found[0], view.better) for one in found[1:]) if whole else ()
    return Comparison(view.name, view.condition, view.unit, view.better, found, verdicts, view.kind, view.axis)


def _arm(
    view: View, protocol: Protocol, name: str, trial: str, x: float | None, done: Mapping[str, RunDone]
) -> Arm | None:
    runs = [
        Run(
            step.key,
            step.round,
            value,
            run.seconds,
            run.models,
            together(run.models) if len(run.models) > 1 else None,
            run.phases,
            run.raw,
            run.commands,
            run.cpu,
        )
        for step in schedule(protocol)
        if step.trial.key == trial and (run := done.get(step.key)) and (value := value_of(run, view.value)) is not None
    ]
    return arm(name, runs, x) if runs else None


def arm(name: str, runs: Sequence[Run], x: float | None = None) -> Arm:
    """The arm of these runs; at least one."""
    values = [run.value for run in runs]
    return Arm(name, tuple(runs), median(values), min(values), max(values), x)


def verdict(one: Arm, first: Arm, better: Better) -> Conclusion:
    """`one` beside `first`."""
    if min(one.least, first.least, one.median, first.median) <= 0:
        return Conclusion(one.name, "unknown", 0.0, 0.0, 0.0, "unknown: a run shows nothing")
    ratio, low, high = one.median / first.median, one.least / first.most, one.most / first.least
    figures = f"{ratio:.2f}x ({low:.2f} to {high:.2f})"
    outcome: VerdictOutcome
    if min(len(one.runs), len(first.runs)) < LEAST_RUNS:
        outcome, words = "unknown", f"unknown: {figures}, of fewer than {LEAST_RUNS} runs each"
    elif low <= 1 <= high:
        outcome, words = "no difference", f"no difference: {figures}, the spreads overlap"
    else:
        good = (ratio > 1) == (better == "higher")
        outcome, words = "difference", f"{'better' if good else 'worse'} than {first.name}: {figures}"
    return Conclusion(one.name, outcome, ratio, low, high, words)


def value_of(run: RunDone, metric: Metric) -> float | None:
    """The figure that a comparison is about; None where the run does not have it."""
    if metric.figure == "seconds":
        return run.started
    figures: Figures | None = run.models.get(metric.model)
    if not metric.model and run.models:
        figures = together(run.models)
    name, _, percentile = metric.figure.partition(".")
    found = getattr(figures, name, None)
    if found is None:
        return None
    return float(getattr(found, percentile) if percentile else found)


def _failures(runs: Sequence[RunDone]) -> tuple[str, ...]:
    """Failed requests are reported: a figure that leaves them out would flatter."""
    failed = sum(figures.failed for run in runs for figures in run.models.values())
    sent = failed + sum(figures.completed for run in runs for figures in run.models.values())
    return (f"{failed} of {sent} requests failed",) if failed else ()


def _overlaps(runs: Sequence[RunDone]) -> tuple[str, ...]:
    """Loads that did not run side by side are reported: the one that is left alone has it easier."""
    least = min((run.overlap for run in runs if run.overlap is not None), default=1.0)
    if least >= SIDE_BY_SIDE:
        return ()
    return (f"in one run the models were loaded side by side for {least:.0%} of the time only",)


def _router_cpu(protocol: Protocol, done: Mapping[str, RunDone]) -> Iterator[str]:
    """For `router`: how much of the machine's cores it uses, which is a cost where they are few."""
    for trial in protocol.trials if protocol.name == "router" else ():
        if trial.loads[0].target != "router":
            continue
        runs = [done[step.key] for step in schedule(protocol) if step.trial.key == trial.key and step.key in done]
        if known := [one for run in runs if (one := _cpu_of(run))]:
            router, cores, workers = (median(values) for values in zip(*known, strict=True))
            yield (
                f"{trial.loads[0].concurrency} at once: for each token the router used {router:.3f} ms of CPU and the"
                f" workers {workers:.3f}; that is {cores:.2f} cores for the router"
            )


def _cpu_of(run: RunDone) -> tuple[float, float, float] | None:
    """(milliseconds of the router's CPU for each token, its cores while load was sent, milliseconds of the workers' CPU
    for each token); None where unknown."""
    tokens = sum(figures.tokens for figures in run.models.values()) * run.sending
    router = sum(used for service, used in run.cpu.items() if service in PROXIES)
    if not (tokens and router):
        return None
    return router / tokens * 1e3, router / run.sending, (sum(run.cpu.values()) - router) / tokens * 1e3


def fairness(one: Experiment) -> tuple[str, ...]:
    """For `contention`: how evenly the models lose. Jain's index of what each keeps of its speed: 1 is even, 1/n is one
    model having all (Jain, Chiu, Hawe 1984)."""
    kept = [c.verdicts[0].ratio for c in one.comparisons if one.name == "contention" and c.name != "sum" and c.verdicts]
    if len(kept) < 2 or not all(kept):
        return ()
    return (f"fairness {jain(kept):.3f} (Jain's index of what each model keeps of its speed; 1 is even)",)


def jain(shares: Sequence[float]) -> float:
    """(sum x)^2 / (n sum x^2)."""
    return sum(shares) ** 2 / (len(shares) * sum(share**2 for share in shares))
