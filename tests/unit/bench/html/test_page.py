"""The page's text. How it looks is judged in a browser: test_browser.py."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kit.bench.html.charts import charts
from kit.bench.html.page import Block, Page, html, page
from kit.bench.results import Bench
from tests.support.anybench import BENCHES
from tests.support.benches import EXAMPLE
from tests.support.paths import GOLDEN

HERE = GOLDEN / "bench" / "html"
VOID = {"meta", "link"}
EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&{{ 7*7 }}</pre></style>"


class Tree(HTMLParser):
    """What is open, and every tag with its attributes: enough to see that text stays text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.wrong: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


def written(bench: Bench) -> str:
    """With a stand-in for each drawing: those have tests of their own."""
    drawn = charts(bench)
    return html(bench, drawn, {one.chart.name: f"<svg>{one.chart.name}</svg>" for one in drawn})


def made(bench: Bench) -> Page:
    drawn = charts(bench)
    return page(bench, drawn, {one.chart.name: one.chart.name for one in drawn})


def parsed(text: str) -> Tree:
    tree = Tree()
    tree.feed(text)
    tree.close()
    assert not tree.wrong and not tree.open
    return tree


def test_the_page_of_a_benchmark(golden: Callable[[Path, str], None]) -> None:
    """Of some experiments: a few comparisons, a start, and what is unknown."""
    some = tuple(one for one in EXAMPLE.experiments if one.name in ("memory-share", "mps", "startup", "router"))
    text = written(replace(EXAMPLE, experiments=some))
    text = re.sub(r"<style>.*</style>", "<style></style>", text, flags=re.DOTALL)
    golden(HERE / "example-page.html", text)


def test_the_page_needs_nothing_but_itself_and_forbids_all_else() -> None:
    text = written(EXAMPLE)
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    assert f'<meta http-equiv="Content-Security-Policy" content="{policy}">' in text
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in text
    assert not re.search(r"<script|@import|url\(|src=|javascript:", text)
    links = [value for _, attributes in parsed(text).tags for key, value in attributes.items() if key == "href"]
    assert links and all(str(link).startswith(("#", "data:,")) for link in links)


def test_every_link_leads_somewhere() -> None:
    tags = parsed(written(EXAMPLE)).tags
    ids = [attributes["id"] for _, attributes in tags if attributes.get("id")]
    assert len(set(ids)) == len(ids)
    assert {f"#{one}" for one in ids} >= {a["href"] for tag, a in tags if tag == "a"}


def test_what_others_wrote_stays_text() -> None:
    setup = replace(
        EXAMPLE.setup,
        manifest=EVIL,
        profile=EVIL,
        notes=(EVIL,),
        host={EVIL: EVIL},
        card={"name": EVIL, "driver": [EVIL]},
    )
    first = replace(EXAMPLE.experiments[1], name=EVIL, question=EVIL, constant=(EVIL,), remarks=(EVIL,))
    text = written(replace(EXAMPLE, setup=setup, experiments=(first,), started=EVIL))
    kinds = {tag for tag, _ in parsed(text).tags}
    assert not kinds & {"script", "img"} and unescape(text).count(EVIL) > 8 and "49" not in text.split("</style>")[1]


def test_an_unfinished_benchmark_says_so_and_shows_what_there_is() -> None:
    text = written(replace(EXAMPLE, actual_seconds=None, estimated_seconds=None, memory=()))
    assert "Incomplete:" in text and "Incomplete:" not in written(EXAMPLE)
    assert "Memory of the card" not in text and "Does the memory split matter?" in text


def test_a_benchmark_without_any_result_is_a_page_too() -> None:
    text = written(replace(EXAMPLE, experiments=(), memory=(), actual_seconds=None, started=""))
    parsed(text)
    assert "No experiment is finished." in text and "unknown" in text


def test_the_time_is_told_as_it_was_and_what_is_no_date_stays() -> None:
    assert dict(made(EXAMPLE).lead) == {
        "Profile": "full", "Started": "2026-11-29 22:10 UTC", "Estimated": "42 min", "Actual": "45 min (+8%)",
    }  # fmt: skip
    assert dict(made(replace(EXAMPLE, started="yesterday")).lead)["Started"] == "yesterday"


def test_where_there_is_no_card_the_cpu_is_named() -> None:
    setup = replace(EXAMPLE.setup, card={"name": "host memory", "total_bytes": 8})
    assert made(replace(EXAMPLE, setup=setup)).title == "Benchmark on the CPU: AMD Ryzen 9 9950X"


def test_an_experiment_without_verdicts_says_what_it_has() -> None:
    nothing = replace(EXAMPLE.experiments[1], comparisons=(), remarks=("left out",))
    sections = made(replace(EXAMPLE, experiments=(EXAMPLE.experiments[0], nothing))).sections
    assert [(section.without, section.tallies) for section in sections] == [("curves", {}), ("not measured", {})]


def test_an_arm_measured_alone_has_no_verdict_and_is_not_called_unmeasured() -> None:
    whole = EXAMPLE.experiments[1]
    comparison = whole.comparisons[0]
    first = replace(comparison.arms[0], runs=comparison.arms[0].runs[:1])
    alone = replace(whole, comparisons=(replace(comparison, arms=(first,), verdicts=()),))
    (section,) = made(replace(EXAMPLE, experiments=(alone,))).sections
    assert section.without == "not compared" and section.answers[0].strong != "not measured"
    assert section.blocks[0].runs_title == "1 run and its commands"


def test_what_others_held_of_the_card_is_told_in_words() -> None:
    held = [{"pid": 7, "name": "python3", "bytes": 3 * 2**30}, {"pid": 8, "name": None, "bytes": None}]
    setup = replace(EXAMPLE.setup, card={**EXAMPLE.setup.card, "processes": held})
    terms = [term for listed in made(replace(EXAMPLE, setup=setup)).terms.values() for term in listed]
    assert [said for what, said in terms if what == "in use by"] == [
        "python3 (pid 7), 3.00 GiB", "unknown (pid 8), unknown",
    ]  # fmt: skip


def blocks(name: str) -> tuple[Block, ...]:
    return next(section.blocks for section in made(EXAMPLE).sections if section.experiment.name == name)


def test_charts_stand_where_their_numbers_are() -> None:
    shown = made(EXAMPLE)
    by_name = {section.experiment.name: section for section in shown.sections}
    assert [one.svg for one in shown.memory_figures] == ["memory-of-the-card", "memory-of-each-worker"]
    assert len(by_name["sweep"].figures) == 5 and not by_name["policy"].figures
    assert [[figure.svg for figure in block.figures] for block in blocks("startup")] == [
        [f"startup-{name}-caches", f"startup-{name}-caches-timeline"] for name in ("cold", "warm")
    ]  # fmt: skip
    assert [len(block.figures) for block in blocks("memory-share")] == [1]


def test_a_further_curve_of_the_same_runs_is_a_column_of_the_first() -> None:
    assert [block.comparison.name for block in blocks("sweep")] == ["chat", "small", "tiny", "together"]


def test_runs_that_two_comparisons_are_about_are_listed_once() -> None:
    first = EXAMPLE.experiments[1].comparisons[0]
    twice = replace(EXAMPLE.experiments[1], comparisons=(first, replace(first, name="again", unit="ms")))
    one, other = made(replace(EXAMPLE, experiments=(twice,))).sections[0].blocks
    assert one.runs and one.commands and len(one.tables) == 2
    assert not other.runs and not other.commands and len(other.tables) == 1


@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])
@given(BENCHES)
def test_any_benchmark_is_a_well_formed_page(bench: Bench) -> None:
    tags = parsed(written(bench)).tags
    assert not {tag for tag, _ in tags} & {"script", "img", "iframe", "object"}
    ids = [attributes["id"] for _, attributes in tags if attributes.get("id")]
    assert len(set(ids)) == len(ids)
    assert not [key for _, attributes in tags for key in attributes if key.startswith("on")]


@given(st.sampled_from(["answers", "memory", "setup", "Answers", "---"]))
def test_an_experiment_may_have_any_name(name: str) -> None:
    bench = replace(EXAMPLE, experiments=tuple(replace(EXAMPLE.experiments[1], name=name) for _ in range(2)))
    ids = re.findall(r' id="([^"]+)"', written(bench))
    assert len(set(ids)) == len(ids)
