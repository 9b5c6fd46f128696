"""`prefix`: what does a shared prefix save?"""

from __future__ import annotations

from kit.bench.design import (
    BenchRequest,
    Protocol,
    Trial,
    Value,
    View,
)
from kit.bench.load import Prompts
from kit.bench.workload import SPARE, load, share_of, single

QUESTION = "What does vLLM's prefix cache save when prompts share their beginning?"
VARIES = "the prompts: one of two shared prefixes at their beginning, or random from the first token"
# (prefix, rest, output) in tokens, of a context of at least 4,096
PREFILL = (2048, 32, 32)
DECODE = (128, 32, 256)
PREFIXES = 2


def protocol(wish: BenchRequest) -> Protocol:
    """One model, with work that is mostly reading and work that is mostly writing."""
    model = single(wish)
    if model is None:
        return Protocol("prefix", QUESTION, VARIES, (), remarks=("no model here makes text",))
    most = min(share_of(wish, model).context - SPARE, wish.effort.most_tokens)
    trials, views = [], []
    for name, sizes in (("prefill-heavy", PREFILL), ("decode-heavy", DECODE)):
        prefix, rest, output = fitted(sizes, most)
        both = {
            "random": Prompts(prefix + rest, output),
            "shared": Prompts(prefix + rest, output, prefix, PREFIXES),
        }
        for kind, prompts in both.items():
            one = load(wish, model, prompts)
            trials.append(Trial(f"{name}-{kind}", wish.given, (one,), wish.effort.seconds, name))
        arms = tuple((f"{kind} prompts", f"{name}-{kind}", None) for kind in both)
        condition = f"{model.name}, {prefix}+{rest} tokens in, {output} out, {load(wish, model).concurrency} at once"
        views.append(View(name, condition, "tok/s", "higher", Value("tokens"), arms))
        title = f"{name}, p99 until the first token"
        views.append(View(title, condition, "ms", "lower", Value("ttft.p99", model.name), arms))
    held = ("the stack as given, through the router", "every run has prompts of its own: nothing is cached before")
    return Protocol("prefix", QUESTION, VARIES, held, tuple(trials), tuple(views), wish.effort.rounds)


def fitted(sizes: tuple[int, int, int], most: int) -> tuple[int, int, int]:
    """Smaller in the same proportion where their sum would be more than `most`."""
    if sum(sizes) <= most:
        return sizes
    prefix, rest, output = (max(size * most // sum(sizes), 4) for size in sizes)
    return prefix, rest, output
