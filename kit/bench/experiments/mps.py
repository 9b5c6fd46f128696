"""`mps`: do several models serve more when NVIDIA MPS runs their kernels side by side?"""

from __future__ import annotations

from kit.bench.design import (
    BenchRequest,
    Protocol,
    StackVariant,
    Trial,
    Value,
    View,
)
from kit.bench.workload import left_out, load, loadable, sum_unit

QUESTION = "Do models that share a card serve more with NVIDIA MPS?"
VARIES = "gpu.mps"


def protocol(wish: BenchRequest) -> Protocol:
    """Every model loaded at once, without and with MPS."""
    models = loadable(wish)
    if wish.plan.gpu.kind == "host":
        return Protocol("mps", QUESTION, VARIES, (), remarks=("MPS shares a card, and this stack has none",))
    if len(models) < 2:
        return Protocol("mps", QUESTION, VARIES, (), remarks=("fewer than two models here can be loaded",))
    loads = tuple(load(wish, model) for model in models)
    stands = {name: _with(wish, mps) for name, mps in (("without MPS", False), ("with MPS", True))}
    trials = tuple(Trial(stand.key, stand, loads, wish.effort.seconds) for stand in stands.values())
    arms = tuple((name, stand.key, None) for name, stand in stands.items())
    unit, value = sum_unit(loads)
    sum_of = View("sum", "every model loaded at once", unit, "higher", value, arms)
    each = (
        View(
            one.name,
            f"{one.concurrency} at once, beside the others",
            "tok/s",
            "higher",
            Value("tokens", one.name),
            arms,
        )
        for one in loads
    )
    held = tuple(f"{one.name}: {one.prompts}, {one.concurrency} at once" for one in loads)
    return Protocol(
        "mps", QUESTION, VARIES, held, trials, (sum_of, *each), wish.effort.restarts, wish.effort.inner, left_out(wish)
    )


def _with(wish: BenchRequest, mps: bool) -> StackVariant:
    if wish.manifest.gpu.mps == mps:
        return wish.given
    gpu = wish.manifest.gpu.model_copy(update={"mps": mps})
    return StackVariant("with MPS" if mps else "without MPS", wish.manifest.model_copy(update={"gpu": gpu}))
