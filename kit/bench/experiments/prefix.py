"""`prefix`: what does a shared prefix save?"""

from __future__ import annotations

from dataclasses import replace

from kit.bench.design import BenchRequest, Metric, Protocol, Trial, View
from kit.bench.load import Prompts
from kit.bench.workload import NO_TEXT, SPARE, load, share_of, single

OUTLINE = Protocol(
    "prefix",
    "What does vLLM's prefix cache save when prompts share their beginning?",
    "the prompts: one of two shared prefixes at their beginning, or random from the first token",
    ("the stack as given, through the router", "every run has prompts of its own: nothing is cached before"),
)
# (prefix, rest, output) in tokens, of a context of at least 4,096
SIZES = {"prefill-heavy": (2048, 32, 32), "decode-heavy": (128, 32, 256)}
PREFIXES = 2


def protocol(request: BenchRequest) -> Protocol:
    """One model, with a load that is mostly prefill and a load that is mostly decode."""
    model = single(request)
    if model is None:
        return OUTLINE.without_trials(NO_TEXT)
    most = min(share_of(request, model).context - SPARE, request.effort.most_tokens)
    trials, views = [], []
    for name, sizes in SIZES.items():
        prefix, rest, output = fitted(sizes, most)
        random = load(request, model, Prompts(prefix + rest, output))
        shared = replace(random, prompts=Prompts(prefix + rest, output, prefix, PREFIXES))
        for kind, one in (("random", random), ("shared", shared)):
            trials.append(Trial(f"{name}-{kind}", request.given, (one,), request.effort.seconds, name))
        arms = tuple((f"{kind} prompts", f"{name}-{kind}", None) for kind in ("random", "shared"))
        condition = f"{model.name}, {prefix}+{rest} tokens in, {output} out, {random.concurrency} at once"
        title, first = f"{name}, p99 until the first token", Metric("ttft.p99", model.name)
        views.append(View(name, condition, "tok/s", "higher", Metric("tokens"), arms))
        views.append(View(title, condition, "ms", "lower", first, arms))
    return replace(OUTLINE, trials=tuple(trials), views=tuple(views), rounds=request.effort.rounds)


def fitted(sizes: tuple[int, int, int], most: int) -> tuple[int, int, int]:
    """Smaller in the same proportion where their sum would be more than `most`."""
    if sum(sizes) <= most:
        return sizes
    prefix, rest, output = (max(size * most // sum(sizes), 4) for size in sizes)
    return prefix, rest, output
