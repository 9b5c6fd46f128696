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
    BarRow,
    Bars,
    Chart,
    Curves,
    StackedBars,
    Timeline,
)
from kit.bench.html.draw import png, svg
from kit.bench.html.palette import EITHER
from kit.bench.results import Bench
from tests.support.anybench import BENCHES
from tests.support.benches import EXAMPLE
from tests.support.paths import ROOT

EACH = {type(one.chart): one.chart for one in reversed(charts(EXAMPLE))}  # the first of each
KINDS = (Curves, Bars, Timeline, StackedBars)
ODD = ("<script>alert(1)</script>", "$x^2$", "_hidden", "two\nlines", "name " * 40, "🦙 模型", "%s {0} \\n")


def texts(drawn: str) -> list[str]:
    return [str(text.text) for text in ElementTree.fromstring(drawn).iter("text")]


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_chart_gives_the_same_bytes(kind: type[Chart]) -> None:
    chart = EACH[kind]
    assert svg(chart) == svg(chart) and png(chart) == png(chart)


@pytest.mark.parametrize("kind", KINDS)
def test_a_drawing_has_no_colour_of_its_own_and_is_read_out(kind: type[Chart]) -> None:
    drawn = svg(EACH[kind])
    assert not re.search(r"#[0-9a-fA-F]{6}\b", drawn) and not any(colour in drawn for _, colour in EITHER.named())
    assert ElementTree.fromstring(drawn).get("aria-label") == EACH[kind].words


@pytest.mark.parametrize("kind", KINDS)
def test_a_drawing_reaches_for_nothing_outside(kind: type[Chart]) -> None:
    drawn = svg(EACH[kind])
    assert not re.search(r"https?:|<script|<image|<foreignObject|@import|\son\w+=", drawn)
    assert len(drawn) < 40_000


@pytest.mark.parametrize("kind", KINDS)
def test_a_picture_has_two_dots_a_pixel_and_light_paper(kind: type[Chart]) -> None:
    with Image.open(io.BytesIO(png(EACH[kind]))) as picture:
        assert picture.width == 760 and picture.height > 250
        assert picture.convert("RGB").getpixel((2, 2)) == (255, 255, 255)


def test_the_words_of_a_chart_are_text() -> None:
    said = texts(svg(EACH[Bars]))
    bars = EACH[Bars]
    assert isinstance(bars, Bars)
    assert all(row.name in said and row.words in said for row in bars.rows if row.words)
    assert {"chat", "small", "tiny", "together", "requests at once", "tok/s"} <= set(texts(svg(EACH[Curves])))


@pytest.mark.parametrize("name", ODD)
def test_a_name_is_drawn_as_it_is_or_shortened_and_is_never_markup(name: str) -> None:
    rows = (BarRow(name, 3.0, 2.0, 4.0, (2.0, 3.0, 4.0), name),)
    chart = Bars("odd", name, name, name, name, rows)
    drawn = svg(chart)
    assert "<script" not in drawn and png(chart)
    start = re.split(r"[\n\ufffd]", name)[0][:12]
    assert any(text.startswith(start) for text in texts(drawn))


def test_an_unknown_arm_is_a_name_without_a_bar() -> None:
    known = BarRow("one", 3.0, 2.0, 4.0, (3.0,), "")
    both = Bars("x", "", "", "", "s", (known, BarRow("two", None, None, None, (), "")))
    assert {"two", "unknown"} <= set(texts(svg(both)))
    assert svg(both).count("<path") < 2 * svg(replace(both, rows=(known, replace(known, name="two")))).count("<path")


def test_a_unit_that_moves_the_cursor_is_drawn_without_it() -> None:
    assert "\N{REPLACEMENT CHARACTER}" in svg(replace(EACH[Bars], unit="\x08"))


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(BENCHES)
def test_whatever_was_measured_is_drawn(bench: Bench) -> None:
    for one in charts(bench)[:2]:
        drawn = ElementTree.fromstring(svg(one.chart))
        numbers = [float(part) for part in str(drawn.get("viewBox")).split()]
        assert numbers[2] > 300 and 20 < numbers[3] < 2000
        assert "nan" not in re.sub(r">[^<]*<|aria-label=\"[^\"]*\"", "", svg(one.chart)).lower()


def test_matplotlib_s_own_settings_are_left_as_they_were_and_those_of_the_user_do_not_matter() -> None:
    import matplotlib

    before = svg(EACH[Bars])
    with matplotlib.rc_context({"font.size": 30, "svg.fonttype": "path", "text.parse_math": True}):
        assert svg(EACH[Bars]) == before
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
