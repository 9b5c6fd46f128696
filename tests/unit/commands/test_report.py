"""`monogpu-kit report`, as it is typed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from kit.bench.html.charts import charts
from kit.bench.results import to_text
from tests.support.benches import EXAMPLE
from tests.support.typed import kit

SMALL = replace(EXAMPLE, experiments=EXAMPLE.experiments[1:2])
NAMES = {f"{one.chart.name}.png" for one in charts(SMALL)}


@pytest.fixture
def results(tmp_path: Path) -> Path:
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "bench.json").write_text(to_text(SMALL))
    return tmp_path


def test_it_writes_a_page_and_pictures_beside_what_bench_wrote(results: Path) -> None:
    said = kit("report", at=results).good().out
    assert said == f"wrote bench/report.html\nwrote {len(NAMES)} pictures into bench/pictures\n"
    assert (results / "bench" / "report.html").read_text().count("<svg ") == len(NAMES)
    pictures = list((results / "bench" / "pictures").iterdir())
    assert {picture.name for picture in pictures} == NAMES
    with Image.open(pictures[0]) as picture:
        picture.verify()


def test_again_it_writes_the_same_bytes(results: Path) -> None:
    before = {}
    for _ in range(2):
        kit("report", "bench", at=results).good()
        now = {file: file.read_bytes() for file in results.rglob("*") if file.is_file()}
        assert before in ({}, now)
        before = now


def test_the_page_may_go_elsewhere_and_the_pictures_go_with_it(results: Path) -> None:
    said = kit("report", "bench", "-o", "out/page.html", "--json", at=results).good().json
    assert said["report"] == "out/page.html"
    assert {Path(name) for name in said["pictures"]} == {Path("out/pictures") / name for name in NAMES}
    assert all((results / name).is_file() for name in (said["report"], *said["pictures"]))
    assert [file.name for file in (results / "bench").iterdir()] == ["bench.json"]


def test_without_results_it_says_what_writes_them(tmp_path: Path) -> None:
    said = kit("report", at=tmp_path)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("bench/bench.json: no such file") and "`monogpu-kit bench`" in said.err


def test_a_file_is_no_folder_of_results(results: Path) -> None:
    said = kit("report", "bench/bench.json", at=results)
    assert said.code == 2 and "is a file" in said.err and "folder" in said.err


def test_results_that_cannot_be_read_leave_the_last_page_alone(results: Path) -> None:
    kit("report", at=results).good()
    page = (results / "bench" / "report.html").read_bytes()
    (results / "bench" / "bench.json").write_text('{"version": 99}')
    said = kit("report", "--json", at=results)
    assert said.code == 2 and said.json["ok"] is False and "99" in said.json["problems"][0]["what"]
    assert (results / "bench" / "report.html").read_bytes() == page
