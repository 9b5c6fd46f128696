"""Tables of what was measured, from tests/recorded and benchmarks/results."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from scripts.doc_parts.tables import cell

ROOT = Path(__file__).resolve().parents[2]
RESULTS = "benchmarks/results"


def numbers() -> str:
    """The recorded stacks: planned against the driver, from tests/recorded/h200-up.json."""
    from kit.units import MIB
    from tests.support.readings import up_steps

    rows = [
        "| stack | worker | planned | driver, started | driver, under load | error under load "
        "| KV tokens: planned = logged |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for name, step in up_steps().items():
        for worker in step.get("workers", []) if "up_seconds" in step else []:
            truth = max(worker["rest_bytes"], worker["loaded_bytes"])
            error = f"{worker['planned_bytes'] / truth - 1:+.2%}"
            kind = "lock" if worker["measured_lines"] else "formulas"
            mib = [f"{worker[key] / MIB:,.0f}" for key in ("planned_bytes", "rest_bytes", "loaded_bytes")]
            same = worker["planned_kv_tokens"] == worker["log"]["kv_tokens"]
            tokens = f"{worker['planned_kv_tokens']:,}{'' if same else ' NOT EQUAL'}"
            rows.append(f"| {name} ({kind}) | {worker['service']} | {' | '.join(mib)} | {error} | {tokens} |")
    return "\n".join(rows)


def families() -> str:
    """Workers of newer families, planned before they were measured, from tests/recorded/h200-families.json."""
    from kit.units import GIB, MIB
    from tests.support.readings import families as recorded

    rows = [
        "| worker | planned | driver, started | driver, under load | error | KV tokens: planned = logged "
        "| weights, planned and logged |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for one in recorded():
        seen, said = one["measured"], "" if one["split"] == "seen" else " (held out)"
        truth = max(seen["rest_mib"], seen["loaded_mib"])
        error = f"{one['planned_bytes'] / MIB / truth - 1:+.2%}"
        error += f", {one['today_bytes'] / MIB / truth - 1:+.2%} today" if "today_bytes" in one else ""
        same = "" if one["kv_tokens"] == seen["kv_tokens"] else f", logged {seen['kv_tokens']:,}"
        mib = (one["planned_bytes"] / MIB, seen["rest_mib"], seen["loaded_mib"])
        weights = f"{one['lines']['weights'] / GIB:.2f}, {seen['weights_gib']:.2f} GiB"
        name = one["name"] + said + (f"<br>{cell(seen['note'])}" if seen["note"] else "")
        numbers = " | ".join(f"{each:,.0f}" for each in mib)
        rows.append(f"| {name} | {numbers} | {error} | {one['kv_tokens']:,}{same} | {weights} |")
    return "\n".join(rows)


def experiments() -> str:
    """What `bench` measures, from the experiments themselves."""
    from kit.bench.experiments import EXPERIMENTS

    rows = ["| experiment | question | what varies |", "|---|---|---|"]
    rows += [
        f"| `{name}` | {cell(one.OUTLINE.question)} | {cell(one.OUTLINE.varies)} |" for name, one in EXPERIMENTS.items()
    ]
    return "\n".join(rows)


# What was varied, and the article's ratio; then where ours is: experiment, comparison, the arm beside the first one.
ARTICLE = {
    ("30% of the card instead of all of it, tok/s", "1.01x (12,766 and 12,838)"): (
        "memory-share", "throughput", "30% of it",
    ),
    ("shared prefixes instead of random prompts, prefill-heavy, tok/s", "2.01x (1,153 and 2,316)"): (
        "prefix", "prefill-heavy", "shared prompts",
    ),
    ("the same, p99 until the first token", "0.36x (314 and 113 ms)"): (
        "prefix", "prefill-heavy, p99 until the first token", "shared prompts",
    ),
    ("the same, decode-heavy, tok/s", "about 1.15x"): ("prefix", "decode-heavy", "shared prompts"),
    ("cache_aware instead of round_robin, few prefixes, req/s", "1.03x (60.6 and 62.4)"): (
        "policy", "small working set", "cache_aware",
    ),
    ("the same, as many prefixes as one cache holds", "1.03x (53.4 and 55.2)"): (
        "policy", "medium working set", "cache_aware",
    ),
    ("the same, twice as many", "0.83x (46.3 and 38.5)"): ("policy", "large working set", "cache_aware"),
    ("through the router instead of direct, tok/s", "not measured"): ("router", "throughput", "through the router"),
    ("three models at once instead of one of them alone, tok/s", "not measured"): ("contention", "sum", "all together"),
    ("three workers started at once instead of one after another, seconds", "not measured"): (
        "startup", "warm start", "parallel",
    ),
    ("three models at once, with MPS instead of without, tok/s", "not measured"): ("mps", "sum", "with MPS"),
}  # fmt: skip


def article() -> str:
    """The article's ratios beside those of benchmarks/results/; single runs where a card has nothing better."""
    found = _benches()
    rows = ["| one thing varied | article, RTX 5080 | here |", "|---|---|---|"]
    for (what, said), (experiment, comparison, arm) in ARTICLE.items():
        ours = {name: one for name, bench in found.items() if (one := _compared(bench, experiment, comparison))}
        cells = [
            f"[{name.removeprefix('h200-')}](../{RESULTS}/{name}): {cell(_said(one, arm))}"
            for name, one in ours.items()
            if _repeated(one) or not any(_repeated(other) for n, other in ours.items() if _card(n) == _card(name))
        ]
        rows.append(f"| {what} | {said} | {'<br>'.join(cells)} |")
    return "\n".join(rows)


@cache
def _benches() -> dict[str, Any]:
    """Every benchmark under benchmarks/results/ by its folder's name."""
    from kit.bench.results import from_text

    folders = sorted(path.parent for path in (ROOT / RESULTS).glob("*/bench.json"))
    return {one.name: from_text((one / "bench.json").read_text(), one.name) for one in folders}


def _compared(bench: Any, experiment: str, comparison: str) -> Any:
    """The comparison; None where its arms were not all measured."""
    for one in bench.experiments:
        for compared in one.comparisons if one.name == experiment else ():
            if compared.name == comparison and compared.verdicts:
                return compared
    return None


def _card(name: str) -> str:
    """`"h200-16gb"` of `"h200-16gb-rounds"`."""
    return "-".join(name.split("-")[:2])


def _repeated(compared: Any) -> bool:
    return all(len(arm.runs) > 1 for arm in compared.arms)


def _said(compared: Any, arm: str) -> str:
    from kit.bench.progress import number

    verdict = next(one for one in compared.verdicts if one.arm == arm)
    medians = {arm.name: number(arm.median) for arm in compared.arms}
    both = f"({medians[compared.arms[0].name]} and {medians[verdict.arm]})"
    if all(len(arm.runs) == 1 for arm in compared.arms):
        return f"{verdict.ratio:.2f}x, one run each {both}"
    plain = "" if verdict.outcome == "difference" else f"{verdict.outcome}: "
    spread = f"{verdict.low:.2f} to {verdict.high:.2f}"
    return f"{plain}{verdict.ratio:.2f}x, {spread} {both}"


def router() -> str:
    """What the router costs, of all pairs of runs under benchmarks/results/: one direct, the next through it."""
    from statistics import geometric_mean, median

    tokens, first = _pairs("throughput"), _pairs("median until the first token, 1 at once")
    ratios = [through / direct for direct, through in tokens]
    later = [through - direct for direct, through in first]
    return (
        f"Over all {len(tokens)} pairs of runs: throughput at 48 at once"
        f" {median(ratios):.2f}x of direct in the median pair ({min(ratios):.2f} to {max(ratios):.2f}),"
        f" {geometric_mean(ratios):.2f}x in the geometric mean; the median first token of one request at a time"
        f" {median(later):+.1f} ms ({min(later):+.1f} to {max(later):+.1f})."
    )


def _pairs(comparison: str) -> list[tuple[float, float]]:
    """(direct, through the router) of every round; one that was broken off is none."""
    found = (_compared(bench, "router", comparison) for bench in _benches().values())
    arms = [[run.value for run in arm.runs] for one in found if one for arm in one.arms]
    return [
        pair
        for direct, through in zip(arms[::2], arms[1::2], strict=True)
        for pair in zip(direct, through, strict=False)
    ]
