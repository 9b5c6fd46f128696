"""The card's memory: the bill beside what the driver showed. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from kit.bench.html.chartspecs import (
    Pile,
    Segment,
    StackedBars,
)
from kit.bench.results import (
    Bench,
    MeasuredFootprint,
)
from kit.units import size

MOSTLY = 0.9  # of the card, free before: what others hold is not worth a word
TERMS = 5  # shown by name; the smaller ones are one part
OTHER = "other"
LEFT = "left"
HELD = "what the driver showed"


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


def memory_charts(bench: Bench) -> Iterator[StackedBars]:
    workers = [one for one in bench.memory if planned(one) > 0]
    if not workers:
        return
    yield _card(workers, *room(bench))
    yield _workers(workers)


def off(footprint: MeasuredFootprint) -> str:
    """The bill beside the driver's figure, in words."""
    if not footprint.measured:
        return f"{size(planned(footprint))} planned, held: unknown"
    more = planned(footprint) / footprint.measured - 1
    return f"{size(planned(footprint))} planned, {size(footprint.measured)} held ({more:+.1%})"


def _card(workers: Sequence[MeasuredFootprint], whole: int | None, ends: str) -> StackedBars:
    bill = [(one.service, planned(one)) for one in workers]
    held = [(one.service, one.measured) for one in workers]
    piles = [_pile("planned", bill, whole)]
    if any(count for _, count in held):
        piles.append(_pile("held", held, whole))
    words = f"The card: {'; '.join(f'{pile.name}: {pile.words}' for pile in piles)}; {ends}."
    caption = f"by worker; {ends}"
    legend = tuple(name for name, _ in bill)
    return StackedBars("memory of the card", f"memory, {caption}", caption, words, tuple(piles), legend, whole)


def _pile(name: str, counts: Sequence[tuple[str, int | None]], whole: int | None) -> Pile:
    parts = [Segment(service, count, n) for n, (service, count) in enumerate(counts) if count]
    used = sum(part.bytes for part in parts)
    unknown = [service for service, count in counts if count is None]
    if whole and whole > used and not unknown:
        parts.append(Segment(LEFT, whole - used, None))
    words = f"{size(used)}, {used / whole:.0%}" if whole else size(used)
    return Pile(name, words + (f"; {', '.join(unknown)}: unknown" if unknown else ""), tuple(parts))


def _workers(workers: Sequence[MeasuredFootprint]) -> StackedBars:
    """A bar for each worker, its parts the terms of the bill; the largest terms over all have names."""
    sums: Counter[str] = Counter()
    for one in workers:
        for what, count in one.lines:
            sums[what] += max(count, 0)
    named = [what for what, count in sums.most_common(TERMS if len(sums) > TERMS + 1 else None) if count]
    legend = (*named, OTHER) if sum(sums.values()) > sum(sums[what] for what in named) else tuple(named)
    piles = tuple(Pile(one.service, off(one), tuple(_parts(one, legend)), one.measured) for one in workers)
    words = f"Each worker: {'; '.join(f'{pile.name}: {pile.words}' for pile in piles)}."
    caption = "by what the memory is for"
    marked = HELD if any(one.measured for one in workers) else ""
    return StackedBars("memory of each worker", f"memory, {caption}", caption, words, piles, legend, None, marked)


def _parts(footprint: MeasuredFootprint, legend: tuple[str, ...]) -> Iterator[Segment]:
    for n, name in enumerate(legend):
        if n == len(legend) - 1 and name == OTHER:
            count = sum(count for what, count in footprint.lines if what not in legend[:n])
        else:
            count = sum(count for what, count in footprint.lines if what == name)
        if count > 0:
            yield Segment(name, count, n)
