"""The card's memory: the bill beside what the driver showed. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise

from kit.bench.html.chartspecs import (
    BarSegment,
    ChartRow,
    Rows,
)
from kit.bench.results import Bench, MeasuredFootprint
from kit.units import GIB, size

MOSTLY = 0.9  # of the card, free before: what others hold is not worth a word
TERMS = 5  # shown by name; the smaller ones are one part
OTHER = "other"
FREE = "free"
MEASURED = "measured"


def planned(footprint: MeasuredFootprint) -> int:
    """The bill's sum, in bytes."""
    return sum(count for _, count in footprint.lines)


def total(bench: Bench) -> int | None:
    """What programs may use of the card, in bytes."""
    found = bench.setup.card.get("total_bytes")
    return found if isinstance(found, int) and not isinstance(found, bool) and found > 0 else None


def room(bench: Bench) -> tuple[int | None, str]:
    """(where the card ends, in words too): where other programs held much of it before, at what they had left."""
    whole, free = total(bench), bench.setup.card.get("free_bytes")
    if whole is None:
        return None, "the card's size is unknown"
    if isinstance(free, int) and not isinstance(free, bool) and 0 < free < whole * MOSTLY:
        return free, f"other programs left {size(free)} of the card's {size(whole)}"
    return whole, f"the card ends at {size(whole)}"


def memory_charts(bench: Bench) -> Iterator[Rows]:
    """The card by worker, and each worker by what its memory is for."""
    workers = [one for one in bench.memory if planned(one) > 0]
    if workers:
        yield _card(workers, *room(bench))
        yield _workers(workers)


def off(footprint: MeasuredFootprint) -> str:
    """The bill beside the driver's figure, in words."""
    if not footprint.measured:
        return f"{size(planned(footprint))} planned, measured: unknown"
    more = planned(footprint) / footprint.measured - 1
    return f"{size(planned(footprint))} planned, {size(footprint.measured)} measured ({more:+.1%})"


def _card(workers: Sequence[MeasuredFootprint], whole: int | None, ends: str) -> Rows:
    rows = [_sum("planned", [(one.service, planned(one)) for one in workers], whole)]
    if any(one.measured for one in workers):
        rows.append(_sum("measured", [(one.service, one.measured) for one in workers], whole))
    caption = f"by worker; {ends}"
    legend, limit = tuple(one.service for one in workers), whole / GIB if whole else None
    return _chart("memory of the card", caption, f"The card: {_listed(rows)}; {ends}.", rows, legend, limit)


def _sum(name: str, counts: Sequence[tuple[str, int | None]], whole: int | None) -> ChartRow:
    """One bar for all workers, and what they leave of the card where that is known."""
    parts = [(service, count, n) for n, (service, count) in enumerate(counts) if count]
    used = sum(count for _, count, _ in parts)
    unknown = [service for service, count in counts if count is None]
    free = [(FREE, whole - used, None)] if whole and whole > used and not unknown else []
    value = f"{size(used)}, {used / whole:.0%}" if whole else size(used)
    return ChartRow(name, value, f"{', '.join(unknown)}: unknown" if unknown else "", stacked([*parts, *free]))


def _workers(workers: Sequence[MeasuredFootprint]) -> Rows:
    """A bar for each worker, its parts the terms of the bill; the largest terms over all have names."""
    sums: Counter[str] = Counter()
    for one in workers:
        for what, count in one.lines:
            sums[what] += max(count, 0)
    named = [
        what for what, count in sums.most_common(TERMS if len(sums) > TERMS + 1 else None) if count and what != OTHER
    ]
    rest = sum(sums.values()) > sum(sums[what] for what in named)
    legend = (*named, OTHER) if rest else tuple(named)
    rows = []
    for one in workers:
        counts = Counter[str]()
        for what, count in one.lines:
            counts[what if what in named else OTHER] += count
        parts = [(name, counts[name], n) for n, name in enumerate(legend) if counts[name] > 0]
        rows.append(
            ChartRow(one.service, off(one), parts=stacked(parts), mark=one.measured / GIB if one.measured else None)
        )
    marked = MEASURED if any(one.measured for one in workers) else ""
    words = f"Each worker: {_listed(rows)}."
    return replace(_chart("memory of each worker", "by what the memory is for", words, rows, legend), marked=marked)


def _chart(
    name: str, caption: str, words: str, rows: Sequence[ChartRow], legend: tuple[str, ...], limit: float | None = None
) -> Rows:
    return Rows(name, f"memory, {caption}", caption, words, "GiB", tuple(rows), legend, limit)


def _listed(rows: Sequence[ChartRow]) -> str:
    return "; ".join(f"{row.name}: {'; '.join(filter(None, (row.value, row.note)))}" for row in rows)


def stacked(counts: Sequence[tuple[str, int, int | None]]) -> tuple[BarSegment, ...]:
    """(name, bytes, place) one after the other, in GiB."""
    ends = [0, *accumulate(count for _, count, _ in counts)]
    return tuple(
        BarSegment(name, begin / GIB, end / GIB, place)
        for (name, _, place), (begin, end) in zip(counts, pairwise(ends), strict=True)
    )
