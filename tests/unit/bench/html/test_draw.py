"""Charts as they are drawn: what a page and a file get."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given, settings
from PIL import Image

from kit.bench.html.charts import charts
from kit.bench.html.chartspecs import (
    BarSegment,
    ChartRow,
    Rows,
)
from kit.bench.html.draw import WIDTH, clipped, columns_of, png, svg
from kit.bench.html.palette import LIGHT
from kit.bench.results import Bench
from tests.support.anybench import BENCHES
from tests.support.benches import EXAMPLE
from tests.support.paths import ROOT

ALL = {one.chart.name: one.chart for one in charts(EXAMPLE)}
KINDS = {
    "curves": ALL["sweep-tok-s"],
    "arms": ALL["policy-large"],
    "timeline": ALL["startup-cold-caches-timeline"],
    "memory": ALL["memory-of-each-worker"],
}
ODD = ("<script>alert(1)</script>", "$x^2$", "_hidden", "two\nlines", "name " * 40, "🦙 模型", "%s {0} \\n")

VARIABLE = re.compile(r"var\(--[\w-]+\)")


def texts(drawn: str) -> list[str]:
    return [str(text.text) for text in ElementTree.fromstring(drawn).iter("text")]


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_chart_gives_the_same_bytes(kind: str) -> None:
    chart = KINDS[kind]
    assert svg(chart) == svg(chart) and png(chart) == png(chart)


@pytest.mark.parametrize("kind", KINDS)
def test_a_drawing_has_no_colour_of_its_own_and_is_read_out(kind: str) -> None:
    drawn = svg(KINDS[kind])
    assert not re.search(r"#[0-9a-fA-F]{6}\b", drawn) and {"var(--ink)", "var(--series-1)"} <= set(
        VARIABLE.findall(drawn)
    )
    root = ElementTree.fromstring(drawn)
    assert (root.get("role"), root.get("aria-label")) == ("img", KINDS[kind].words)


@pytest.mark.parametrize("kind", KINDS)
def test_a_drawing_is_one_element_from_which_nothing_leaks_into_the_page(kind: str) -> None:
    drawn = svg(KINDS[kind])
    assert drawn.startswith("<svg ") and drawn.rstrip().endswith("</svg>")
    assert not re.search(r"<\?xml|DOCTYPE|<style|metadata", drawn)


def test_ids_are_the_chart_s_own_and_every_reference_finds_its_own() -> None:
    ids: list[str] = []
    for chart in (*KINDS.values(), ALL["policy-small"]):  # two of them look the same
        root = ElementTree.fromstring(svg(chart))
        own = {str(node.get("id")) for node in root.iter() if node.get("id")}
        values = " ".join(value for node in root.iter() for key, value in node.attrib.items() if key != "aria-label")
        assert own and set(re.findall(r"#([\w-]+)", values)) <= own
        ids += own
    assert len(set(ids)) == len(ids)


def test_letters_are_as_large_as_the_theme_says() -> None:
    styles = [str(text.get("style")) for text in ElementTree.fromstring(svg(KINDS["arms"])).iter("text")]
    assert all("font-size: 11px" in style for style in styles) and any("font-weight: 700" in style for style in styles)


@pytest.mark.parametrize("kind", KINDS)
def test_a_drawing_reaches_for_nothing_outside(kind: str) -> None:
    drawn = svg(KINDS[kind])
    assert not re.search(r"https?:|<script|<image|<foreignObject|@import|\son\w+=", drawn)
    assert len(drawn) < 40_000


@pytest.mark.parametrize("kind", KINDS)
def test_a_picture_has_two_dots_a_pixel_and_light_paper(kind: str) -> None:
    with Image.open(io.BytesIO(png(KINDS[kind]))) as picture:
        assert picture.width == 2 * WIDTH and picture.height > 250
        assert picture.convert("RGB").getpixel((2, 2)) == (255, 255, 255)


def test_the_words_of_a_chart_are_text() -> None:
    chart = KINDS["arms"]
    assert isinstance(chart, Rows)
    assert {text for row in chart.rows for text in (row.name, row.value, row.note) if text} <= set(texts(svg(chart)))
    assert {"chat", "small", "tiny", "together", "requests at once", "tok/s"} <= set(texts(svg(KINDS["curves"])))


@pytest.mark.parametrize("name", ODD)
def test_a_name_is_drawn_as_it_is_or_shortened_and_is_never_markup(name: str) -> None:
    rows = (ChartRow(name, name, name, (BarSegment(name, 0.0, 3.0, 0),), (2.0, 3.0, 4.0), (2.0, 4.0)),)
    chart = Rows("odd", name, name, name, name, rows, (name,), marked=name)
    drawn = svg(chart)
    assert "<script" not in drawn and png(chart)
    start = re.split(r"[\n\ufffd]", name)[0][:6]
    assert len([text for text in texts(drawn) if text.startswith(start)]) >= 4


def test_a_colour_in_a_name_is_text() -> None:
    name = f'fill: {LIGHT.ink}; id="p_1"'
    chart = Rows("odd", "", "", "", "s", (ChartRow(name, "", parts=(BarSegment("", 0.0, 3.0, 0),)),))
    assert name in texts(svg(chart))


@pytest.mark.parametrize(
    ("text", "shown"), [("short", "short"), ("much too long", "much too…"), ("模型模型模型", "模型模型…")]
)
def test_a_text_is_clipped_to_its_columns(text: str, shown: str) -> None:
    assert clipped(text, 9) == shown and columns_of(shown) <= 9


def test_an_unknown_arm_is_a_name_without_a_bar() -> None:
    known = ChartRow("one", "3.00 s", parts=(BarSegment("one", 0.0, 3.0, 0),))
    both = Rows("x", "", "", "", "s", (known, ChartRow("two", "unknown")))
    assert {"two", "unknown"} <= set(texts(svg(both)))
    assert svg(both).count("<path") < svg(replace(both, rows=(known, replace(known, name="two")))).count("<path")


def test_a_unit_that_moves_the_cursor_is_drawn_without_it() -> None:
    chart = KINDS["arms"]
    assert isinstance(chart, Rows) and "\N{REPLACEMENT CHARACTER}" in svg(replace(chart, unit="\x08"))


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(BENCHES)
def test_whatever_was_measured_is_drawn(bench: Bench) -> None:
    for one in charts(bench)[:2]:
        drawn = svg(one.chart)
        numbers = [float(part) for part in str(ElementTree.fromstring(drawn).get("viewBox")).split()]
        assert numbers[2] > 300 and 20 < numbers[3] < 2000
        assert "nan" not in re.sub(r">[^<]*<|aria-label=\"[^\"]*\"", "", drawn).lower()


def test_matplotlib_s_own_settings_are_left_as_they_were_and_those_of_the_user_do_not_matter() -> None:
    import matplotlib

    before = svg(KINDS["arms"])
    with matplotlib.rc_context({"font.size": 30, "svg.fonttype": "path", "text.parse_math": True}):
        assert svg(KINDS["arms"]) == before
        assert matplotlib.rcParams["font.size"] == 30


def test_without_matplotlib_the_command_that_brings_it_is_named(tmp_path: Path) -> None:
    from kit.bench.results import to_text

    (tmp_path / "bench.json").write_text(to_text(EXAMPLE))
    code = "import sys; sys.modules['matplotlib'] = None; from kit.cli import main; main()"
    argv = [sys.executable, "-c", code, "report", str(tmp_path)]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "pip install 'monogpu-kit[report]'" in done.stderr and "Traceback" not in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["bench.json"]
