"""`mps`: do several models serve more when NVIDIA MPS runs their kernels side by side?"""

from __future__ import annotations

from dataclasses import replace

from kit.bench.design import BenchRequest, Metric, Protocol, StackVariant, Trial, View
from kit.bench.workload import TOO_FEW, left_out, load, loadable, sum_unit

OUTLINE = Protocol("mps", "Do models that share a card serve more with NVIDIA MPS?", "gpu.mps")


def protocol(request: BenchRequest) -> Protocol:
    """Every model loaded at once, without and with MPS."""
    models, effort = loadable(request), request.effort
    if request.plan.gpu.kind == "host":
        return OUTLINE.without_trials("MPS shares a card, and this stack has none")
    if len(models) < 2:
        return OUTLINE.without_trials(TOO_FEW)
    loads = tuple(load(request, model) for model in models)
    variants = {name: _with(request, name, mps) for name, mps in (("without MPS", False), ("with MPS", True))}
    arms = tuple((name, variant.key, None) for name, variant in variants.items())
    unit, metric = sum_unit(loads)
    views = [View("sum", "every model loaded at once", unit, "higher", metric, arms)]
    for one in loads:
        condition = f"{one.concurrency} at once, beside the others"
        views.append(View(one.name, condition, "tok/s", "higher", Metric("tokens", one.name), arms))
    return replace(
        OUTLINE,
        constant=tuple(f"{one.name}: {one.prompts}, {one.concurrency} at once" for one in loads),
        trials=tuple(Trial(variant.key, variant, loads, effort.seconds) for variant in variants.values()),
        views=tuple(views),
        rounds=effort.restarts,
        inner=effort.inner,
        remarks=left_out(request),
    )


def _with(request: BenchRequest, key: str, mps: bool) -> StackVariant:
    gpu = request.manifest.gpu
    return request.given if gpu.mps == mps else request.variant(key, gpu=gpu.model_copy(update={"mps": mps}))
