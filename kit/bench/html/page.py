"""The page's text, from a benchmark and its drawn charts. The content is decided here; the template prints it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kit.bench.html.answers import Finding, KeyResult, summary, tallies
from kit.bench.html.charts import Placed
from kit.bench.html.memorycharts import total
from kit.bench.html.numbers import UNKNOWN, duration, unique
from kit.bench.html.palette import DARK, LIGHT
from kit.bench.html.tables import Table, arms_table, figures_table, memory_table, runs_table
from kit.bench.results import Bench, Comparison, Experiment, TestBed
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
    """One comparison. A single chart is beside its numbers, several are above them. `runs` is None where another block
    lists them."""

    comparison: Comparison
    figures: tuple[Figure, ...]
    tables: tuple[Table, ...]
    runs: Table | None
    runs_title: str
    commands: tuple[str, ...]


@dataclass(frozen=True)
class Section:
    """One experiment. `without` stands in the place of verdicts: curves, not compared, or not measured."""

    id: str
    experiment: Experiment
    answers: tuple[KeyResult, ...]
    tallies: dict[Finding, int]
    without: str
    figures: tuple[Figure, ...]
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Page:
    """All that the report says."""

    title: str
    lead: tuple[Term, ...]
    complete: bool
    setup: TestBed
    terms: dict[str, tuple[Term, ...]]
    sections: tuple[Section, ...]
    memory_figures: tuple[Figure, ...]
    memory_table: Table | None


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
    setup = bench.setup
    listed: dict[str, tuple[Term, ...]] = {
        "Card": tuple(_card(setup, total(bench))),
        "Host": tuple(setup.host.items()),
        "Versions": tuple(setup.versions.items()),
        "Images": tuple(setup.images.items()),
    }
    return Page(
        title=_title(setup),
        lead=tuple(_lead(bench)),
        complete=bench.actual_seconds is not None,
        setup=setup,
        terms={title: terms for title, terms in listed.items() if terms},
        sections=tuple(_section(n, one, ids[n], pictures) for n, one in enumerate(bench.experiments)),
        memory_figures=pictures.get((None, None), ()),
        memory_table=memory_table(bench.memory) if bench.memory else None,
    )


def _section(n: int, experiment: Experiment, id_: str, pictures: Mapping[Place, tuple[Figure, ...]]) -> Section:
    return Section(
        id=id_,
        experiment=experiment,
        answers=summary(experiment),
        tallies=tallies(experiment),
        without=_without(experiment),
        figures=pictures.get((n, None), ()),
        blocks=tuple(_blocks(n, experiment, pictures)),
    )


def _without(experiment: Experiment) -> str:
    """What stands in the place of the verdicts where there are none."""
    if any(one.kind == "curve" for one in experiment.comparisons):
        return "curves"
    return "not compared" if any(arm.runs for one in experiment.comparisons for arm in one.arms) else "not measured"


def _blocks(n: int, experiment: Experiment, pictures: Mapping[Place, tuple[Figure, ...]]) -> Iterator[Block]:
    """One for each comparison. Where several are about the same runs, the first one lists them and has the further
    curves as columns."""
    listed: set[tuple[str, ...]] = set()
    for m, comparison in enumerate(experiment.comparisons):
        keys = tuple(run.key for arm in comparison.arms for run in arm.runs)
        repeated = bool(keys) and keys in listed
        listed.add(keys)
        if not (repeated and comparison.kind == "curve"):
            yield _block(comparison, pictures.get((n, m), ()), repeated)


def _block(comparison: Comparison, figures: tuple[Figure, ...], repeated: bool) -> Block:
    if repeated:
        return Block(comparison, figures, (arms_table(comparison),), None, "", ())
    tables = (arms_table(comparison), figures_table(comparison))
    runs = runs_table(comparison)
    commands = dict.fromkeys(line for arm in comparison.arms for run in arm.runs for line in run.commands)
    title = f"{len(runs.rows)} run{'s' if len(runs.rows) != 1 else ''}"
    title += f" and {'their' if len(runs.rows) != 1 else 'its'} commands" if commands else ""
    return Block(comparison, figures, tuple(table for table in tables if table), runs, title, tuple(commands))


def _title(setup: TestBed) -> str:
    name = setup.card.get("name", "an unknown card")
    cpu = setup.host.get("cpu", UNKNOWN)
    return f"Benchmark on the CPU: {cpu}" if name == HOST else f"Benchmark of {_text(name)}"


def _lead(bench: Bench) -> Iterator[Term]:
    yield "Profile", bench.setup.profile or UNKNOWN
    yield "Started", _when(bench.started)
    yield "Estimated", duration(bench.estimated_seconds)
    took = duration(bench.actual_seconds)
    if bench.estimated_seconds and bench.actual_seconds:
        took += f" ({bench.actual_seconds / bench.estimated_seconds - 1:+.0%})"
    yield "Actual", took


def _when(text: str) -> str:
    """`"2026-11-29 22:10 UTC"`; what is no ISO date stays as it is."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text or UNKNOWN
    return f"{moment:%Y-%m-%d %H:%M} {moment.tzname() or ''}".rstrip()


def _card(setup: TestBed, whole: int | None) -> Iterator[Term]:
    for key, value in setup.card.items():
        if key == "total_bytes" and whole:
            yield "memory", f"{size(whole)} ({whole:,} bytes)"
        elif key == "free_bytes" and isinstance(value, int):
            yield "free before", size(value)
        elif key == "processes" and isinstance(value, list):
            yield from (("in use by", _process(one)) for one in value if isinstance(one, dict))
        elif value not in (None, [], ""):
            yield key.replace("_", " "), _text(value)


def _process(one: Mapping[str, Any]) -> str:
    """`"python3 (pid 1476), 116.29 GiB"`; what the driver did not show is unknown."""
    name, pid, held = one.get("name") or UNKNOWN, one.get("pid", UNKNOWN), one.get("bytes")
    return f"{name} (pid {pid}), {size(held) if isinstance(held, int) and held else UNKNOWN}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
