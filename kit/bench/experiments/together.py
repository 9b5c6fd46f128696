"""`together`: what does each model lose when all are loaded at once?"""

from __future__ import annotations

from kit.bench.design import (
    BenchRequest,
    Protocol,
    Trial,
    Value,
    View,
)
from kit.bench.workload import left_out, load, loadable

QUESTION = "What does each model lose when all are loaded at once, and what do they serve in sum?"
VARIES = "how many of the models are loaded; all of them are in memory all the time"


def protocol(wish: BenchRequest) -> Protocol:
    """Each model alone, then all at once, each with the same load."""
    models = loadable(wish)
    if len(models) < 2:
        return Protocol("together", QUESTION, VARIES, (), remarks=("fewer than two models here can be loaded",))
    loads = {model.name: load(wish, model) for model in models}
    trials = [Trial(f"alone-{name}", wish.given, (one,), wish.effort.seconds) for name, one in loads.items()]
    trials.append(Trial("together", wish.given, tuple(loads.values()), wish.effort.seconds))
    views = [
        View(
            name, f"{one.concurrency} at once", "tok/s", "higher", Value("tokens", name),
            (("alone", f"alone-{name}", None), ("with the others", "together", None)),
        )
        for name, one in loads.items()
    ]  # fmt: skip
    texts = [name for name, one in loads.items() if one.task == "generate"]
    if len(texts) == len(loads):
        arms = [(f"{name} alone", f"alone-{name}", None) for name in texts]
        all_arms = (*arms, ("all together", "together", None))
        views.append(View("sum", "output tokens of all models", "tok/s", "higher", Value("tokens"), all_arms))
    held = (*(f"{one.name}: {one.prompts}, {one.concurrency} at once" for one in loads.values()), "through the router")
    return Protocol(
        "together", QUESTION, VARIES, held, tuple(trials), tuple(views), wish.effort.rounds, remarks=left_out(wish)
    )
