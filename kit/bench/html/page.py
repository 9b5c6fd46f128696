"""Bench and its drawn charts -> the page's text. What the page says is decided here; the template prints it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kit.bench.html.answers import (
    KeyResult,
    Tally,
    summary,
    tallies,
)
from kit.bench.html.charts import Placed
from kit.bench.html.memorycharts import total
from kit.bench.html.names import unique
from kit.bench.html.numbers import UNKNOWN, duration
from kit.bench.html.palette import DARK, LIGHT
from kit.bench.html.tables import Table, arms_table, figures_table, memory_table, runs_table
from kit.bench.results import (
    Bench,
    Comparison,
    Experiment,
    TestBed,
)
from kit.stack.render import fill
from kit.units import size

HOST = "host memory"  # what stands for the card where the CPU serves
Term = tuple[str, str]
Place = tuple[int | None, int | None]  # a chart's experiment and comparison


@dataclass(frozen=True)
class Figure:
    """A drawn chart: `svg` is markup, all else is text."""

    caption: str
    svg: str


@dataclass(frozen=True)
class Block:
    """One comparison. A chart alone stands beside its numbers, `several` above them. `runs` is None where they were
    listed before."""

    title: str
    condition: str
    figures: tuple[Figure, ...]
    several: bool
    tables: tuple[Table, ...]
    runs: Table | None
    runs_said: str
    commands: tuple[str, ...]


@dataclass(frozen=True)
class Section:
    """One experiment. `without` says what there is where no verdict is: curves, one arm alone,
    or nothing."""

    id: str
    name: str
    question: str
    answers: tuple[KeyResult, ...]
    tallies: tuple[Tally, ...]
    without: str
    varies: str
    held: tuple[str, ...]
    figures: tuple[Figure, ...]
    blocks: tuple[Block, ...]
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class Listed:
    """Things by name, under a heading."""

    title: str
    terms: tuple[Term, ...]


@dataclass(frozen=True)
class Page:
    """All that the report says. `unfinished` is "" when the benchmark is complete."""

    title: str
    lead: tuple[Term, ...]
    unfinished: str
    notes: tuple[str, ...]
    sections: tuple[Section, ...]
    memory_figures: tuple[Figure, ...]
    memory_table: Table | None
    setup: tuple[Listed, ...]
    stacks: tuple[str, ...]
    manifest: str


def html(bench: Bench, drawn: Sequence[Placed], svgs: Mapping[str, str]) -> str:
    """The page's text. `drawn` are its charts, `svgs` their markup by the chart's name."""
    shown = page(bench, drawn, svgs)
    return fill("report.html.j2", page=shown, light=LIGHT.named(), dark=DARK.named()).lstrip()


def page(bench: Bench, drawn: Sequence[Placed], svgs: Mapping[str, str]) -> Page:
    pictures: dict[Place, tuple[Figure, ...]] = {}
    for one in drawn:
        place = (one.experiment, one.comparison)
        pictures[place] = (*pictures.get(place, ()), Figure(one.chart.caption, svgs[one.chart.name]))
    ids = unique((f"experiment-{one.name}" for one in bench.experiments), "experiment")
    sections = (
        _section(n, one, id_, pictures) for n, (one, id_) in enumerate(zip(bench.experiments, ids, strict=True))
    )
    return Page(
        title=_title(bench.setup),
        lead=tuple(_lead(bench)),
        unfinished="" if bench.actual_seconds is not None else "Not finished: this is what had been measured so far.",
        notes=bench.setup.notes,
        sections=tuple(sections),
        memory_figures=pictures.get((None, None), ()),
        memory_table=memory_table(bench.memory) if bench.memory else None,
        setup=tuple(one for one in _setup(bench) if one.terms),
        stacks=bench.setup.stacks,
        manifest=bench.setup.manifest,
    )


def _section(n: int, experiment: Experiment, id_: str, pictures: Mapping[Place, tuple[Figure, ...]]) -> Section:
    return Section(
        id=id_,
        name=experiment.name,
        question=experiment.question,
        answers=summary(experiment),
        tallies=tallies(experiment),
        without=_without(experiment),
        varies=experiment.varies,
        held=experiment.constant,
        figures=pictures.get((n, None), ()),
        blocks=tuple(_blocks(n, experiment, pictures)),
        remarks=experiment.remarks,
    )


def _without(experiment: Experiment) -> str:
    """What stands in the place of the verdicts where there are none."""
    if any(one.kind == "curve" for one in experiment.comparisons):
        return "curves"
    return "not compared" if any(arm.runs for one in experiment.comparisons for arm in one.arms) else "not measured"


def _blocks(n: int, experiment: Experiment, pictures: Mapping[Place, tuple[Figure, ...]]) -> Iterator[Block]:
    """One for each comparison. Several may be about the same runs: what else they say is printed once, and a further
    curve of them would only say again what its model's first one has in a column."""
    seen: set[tuple[str, ...]] = set()
    for m, comparison in enumerate(experiment.comparisons):
        keys = tuple(run.key for arm in comparison.arms for run in arm.runs)
        again = bool(keys) and keys in seen
        seen.add(keys)
        if not (again and comparison.kind == "curve"):
            yield _block(comparison, pictures.get((n, m), ()), again)


def _block(comparison: Comparison, figures: tuple[Figure, ...], again: bool) -> Block:
    tables = (arms_table(comparison), None if again else figures_table(comparison))
    runs = runs_table(comparison)
    commands = dict.fromkeys(line for arm in comparison.arms for run in arm.runs for line in run.commands)
    return Block(
        title=comparison.name,
        condition=comparison.condition,
        figures=figures,
        several=len(figures) != 1,
        tables=tuple(table for table in tables if table),
        runs=None if again else runs,
        runs_said=_runs_said(len(runs.rows), bool(commands)) if runs else "",
        commands=() if again else tuple(commands),
    )


def _runs_said(count: int, commands: bool) -> str:
    if count == 1:
        return "1 run and its commands" if commands else "1 run"
    return f"{count} runs and their commands" if commands else f"{count} runs"


def _title(setup: TestBed) -> str:
    name = setup.card.get("name", "an unknown card")
    cpu = setup.host.get("cpu", UNKNOWN)
    return f"Benchmark on the CPU: {cpu}" if name == HOST else f"Benchmark of {_text(name)}"


def _lead(bench: Bench) -> Iterator[Term]:
    yield "Profile", bench.setup.profile or UNKNOWN
    yield "Started", _when(bench.started)
    yield "Told beforehand", duration(bench.estimated_seconds)
    took = duration(bench.actual_seconds)
    if bench.estimated_seconds and bench.actual_seconds:
        took += f" ({bench.actual_seconds / bench.estimated_seconds - 1:+.0%})"
    yield "Took", took


def _when(text: str) -> str:
    """`"2026-11-29 22:10 UTC"`; what is no ISO date stays as it is."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text or UNKNOWN
    return f"{moment:%Y-%m-%d %H:%M} {moment.tzname() or ''}".rstrip()


def _setup(bench: Bench) -> Iterator[Listed]:
    setup, whole = bench.setup, total(bench)
    yield Listed("Card", tuple(_card(setup, whole)))
    yield Listed("Host", tuple(setup.host.items()))
    yield Listed("Versions", tuple(setup.versions.items()))
    yield Listed("Images", tuple(setup.images.items()))


def _card(setup: TestBed, whole: int | None) -> Iterator[Term]:
    for key, value in setup.card.items():
        if key == "total_bytes" and whole:
            yield "memory", f"{size(whole)} ({whole:,} bytes)"
        elif key == "free_bytes" and isinstance(value, int):
            yield "free before", size(value)
        elif key == "processes" and isinstance(value, list):
            yield from (("held by others", _process(one)) for one in value if isinstance(one, dict))
        elif value not in (None, [], ""):
            yield key.replace("_", " "), _text(value)


def _process(one: Mapping[str, Any]) -> str:
    """`"python3 (pid 1476), 116.29 GiB"`; what the driver did not show is unknown."""
    name, pid, held = one.get("name") or UNKNOWN, one.get("pid", UNKNOWN), one.get("bytes")
    return f"{name} (pid {pid}), {size(held) if isinstance(held, int) and held else UNKNOWN}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
