"""Protocols and records -> the experiments as they are reported. Pure; whatever was done by then is taken."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import median

from kit.bench.design import Protocol, Value, View, schedule
from kit.bench.journal import RunDone
from kit.bench.results import Arm, Comparison, Experiment, Figures, Run
from kit.bench.statistics import arm, verdict
from kit.bench.vllm_results import together
from kit.routers import haproxy, smg

SIDE_BY_SIDE = 0.8
DOORS = (smg.NAME, haproxy.NAME)  # the services that a request passes on its way to a worker


def experiment(protocol: Protocol, ran: Mapping[str, RunDone]) -> Experiment:
    """What an experiment has found so far: arms without a run are left out."""
    comparisons = [_comparison(view, protocol, ran) for view in protocol.views]
    found = tuple(one for one in comparisons if one.arms)
    made = Experiment(protocol.name, protocol.question, protocol.varies, protocol.held, found, protocol.remarks)
    seen = (*_failures(protocol, ran), *_overlaps(protocol, ran), *_router_cpu(protocol, ran), *fairness(made))
    return replace(made, remarks=(*made.remarks, *seen))


def _comparison(view: View, protocol: Protocol, ran: Mapping[str, RunDone]) -> Comparison:
    arms = [_arm(view, protocol, name, trial, x, ran) for name, trial, x in view.arms]
    found = tuple(one for one in arms if one is not None)
    whole = view.kind == "arms" and len(found) > 1 and found[0].name == view.arms[0][0]
    verdicts = tuple(verdict(one, found[0], view.better) for one in found[1:]) if whole else ()
    return Comparison(view.name, view.condition, view.unit, view.better, found, verdicts, view.kind, view.axis)


def _arm(
    view: View, protocol: Protocol, name: str, trial: str, x: float | None, ran: Mapping[str, RunDone]
) -> Arm | None:
    steps = [step for step in schedule(protocol) if step.trial.key == trial and step.key in ran]
    runs = []
    for step in steps:
        value = value_of(ran[step.key], view.value)
        if value is not None:
            runs.append(_run(step.key, step.round, value, ran[step.key]))
    return arm(name, runs, x) if runs else None


def _run(key: str, round: int, value: float, ran: RunDone) -> Run:
    total = together(ran.models) if len(ran.models) > 1 else None
    return Run(key, round, value, ran.seconds, ran.models, total, ran.phases, ran.raw, ran.commands, ran.cpu)


def value_of(ran: RunDone, value: Value) -> float | None:
    """The figure that a comparison is about; None where the run does not tell it."""
    if value.figure == "seconds":
        return ran.started
    figures = _figures(ran, value.model)
    if figures is None:
        return None
    name, _, percentile = value.figure.partition(".")
    found = getattr(figures, name)
    if found is None:
        return None
    return float(getattr(found, percentile) if percentile else found)


def _figures(ran: RunDone, model: str) -> Figures | None:
    if model:
        return ran.models.get(model)
    return together(ran.models) if ran.models else None


def _failures(protocol: Protocol, ran: Mapping[str, RunDone]) -> tuple[str, ...]:
    """Requests that failed are said; a figure that leaves them out would flatter."""
    mine = [ran[step.key] for step in schedule(protocol) if step.key in ran]
    failed = sum(figures.failed for run in mine for figures in run.models.values())
    asked = failed + sum(figures.completed for run in mine for figures in run.models.values())
    return (f"{failed} of {asked} requests failed",) if failed else ()


def _overlaps(protocol: Protocol, ran: Mapping[str, RunDone]) -> tuple[str, ...]:
    """Loads that did not run side by side are said: the one that is left alone has it easier."""
    mine = [ran[step.key] for step in schedule(protocol) if step.key in ran and len(step.trial.loads) > 1]
    told = [run.overlap for run in mine if run.overlap is not None]
    if not told or min(told) >= SIDE_BY_SIDE:
        return ()
    return (f"in one run the models were loaded side by side for {min(told):.0%} of the time only",)


def _router_cpu(protocol: Protocol, ran: Mapping[str, RunDone]) -> Iterator[str]:
    """For `router`: what it takes of the machine's cores, which is a cost where they are few."""
    for trial in protocol.trials if protocol.name == "router" else ():
        if trial.loads[0].door != "router":
            continue
        mine = [ran[step.key] for step in schedule(protocol) if step.trial.key == trial.key and step.key in ran]
        if told := [one for run in mine if (one := _cpu_of(run))]:
            router, cores, workers = (median(values) for values in zip(*told, strict=True))
            yield (
                f"{trial.loads[0].concurrency} at once: for each token the router used {router:.3f} ms of CPU and the"
                f" workers {workers:.3f}; that is {cores:.2f} cores for the router"
            )


def _cpu_of(run: RunDone) -> tuple[float, float, float] | None:
    """(milliseconds of the router's CPU for each token, its cores while load was sent, milliseconds of the workers' CPU
    for each token); None where unknown."""
    tokens = sum(figures.tokens for figures in run.models.values()) * run.sending
    router = sum(used for service, used in run.cpu.items() if service in DOORS)
    if not (tokens and router):
        return None
    return router / tokens * 1e3, router / run.sending, (sum(run.cpu.values()) - router) / tokens * 1e3


def fairness(one: Experiment) -> tuple[str, ...]:
    """For `together`: how evenly the models lose. Jain's index of what each keeps of its speed: 1 is even, 1/n is one
    model having all (Jain, Chiu, Hawe 1984)."""
    kept = [c.verdicts[0].ratio for c in one.comparisons if one.name == "together" and c.name != "sum" and c.verdicts]
    if len(kept) < 2 or not all(kept):
        return ()
    return (f"fairness {jain(kept):.3f} (Jain's index of what each model keeps of its speed; 1 is even)",)


def jain(shares: Sequence[float]) -> float:
    """(sum x)^2 / (n sum x^2)."""
    return sum(shares) ** 2 / (len(shares) * sum(share**2 for share in shares))
