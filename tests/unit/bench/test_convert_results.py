"""scripts/convert-results: results of an older bench in today's names, and no figure changes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kit.bench.experiments import EXPERIMENTS
from kit.bench.journal import read, runs
from kit.bench.results import from_text, to_text
from kit.errors import KitError
from tests.support.paths import RECORDED, ROOT
from tests.support.typed import kit

OLD = RECORDED / "bench-old"  # a part of a benchmark of an H200, as it was written
COMMITTED = sorted((ROOT / "benchmarks" / "results").glob("*/bench.json"))


def convert(folder: Path) -> str:
    argv = [sys.executable, str(ROOT / "scripts" / "convert-results"), str(folder)]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "bench"
    shutil.copytree(OLD, made)
    return made


def figures(data: Any) -> Iterator[float]:
    """Every number, in its order; versions are none."""
    if isinstance(data, dict):
        yield from (number for key, value in data.items() if key != "version" for number in figures(value))
    elif isinstance(data, list):
        yield from (number for value in data for number in figures(value))
    elif isinstance(data, int | float):
        yield data


def lines(file: Path) -> list[Any]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_the_figures_of_converted_results_are_the_old_ones(folder: Path) -> None:
    convert(folder)
    old, new = (json.loads((one / "bench.json").read_text()) for one in (OLD, folder))
    assert list(figures(new)) == list(figures(old)) and len(list(figures(old))) > 100
    read_back = json.loads(to_text(from_text((folder / "bench.json").read_text(), "bench.json")))
    assert sorted(figures(read_back)) == sorted(figures(old))
    assert list(figures(lines(folder / "records.jsonl"))) == list(figures(lines(OLD / "records.jsonl")))


def test_experiments_kinds_and_keys_have_today_s_names(folder: Path) -> None:
    convert(folder)
    bench = from_text((folder / "bench.json").read_text(), "bench.json")
    assert [one.name for one in bench.experiments] == ["contention", "memory-share", "startup"]
    assert bench.estimated_seconds and bench.actual_seconds and bench.experiments[0].constant
    assert all(one.measured for one in bench.memory)
    records = read((folder / "records.jsonl").read_text(), "records.jsonl")
    assert len(records) == len(lines(OLD / "records.jsonl"))
    keys = {run.key for one in bench.experiments for c in one.comparisons for arm in c.arms for run in arm.runs}
    assert {key.partition(".")[0] for key in (*keys, *runs(records))} <= {*EXPERIMENTS}


def test_converting_twice_is_converting_once(folder: Path) -> None:
    assert convert(folder).count("converted") == 2
    before = {file: file.read_bytes() for file in folder.iterdir()}
    assert convert(folder).count("unchanged") == 2
    assert {file: file.read_bytes() for file in folder.iterdir()} == before


def test_results_that_are_not_converted_are_refused_with_the_command(folder: Path) -> None:
    said = kit("report", "bench", at=folder.parent)
    assert said.code == 2 and "bench/bench.json was written by an older monogpu-kit" in said.err
    assert "`scripts/convert-results FOLDER`" in said.err
    with pytest.raises(KitError, match="older monogpu-kit; `scripts/convert-results FOLDER`"):
        read((folder / "records.jsonl").read_text(), "records.jsonl")


@pytest.mark.parametrize("file", COMMITTED, ids=[file.parent.name for file in COMMITTED])
def test_the_results_in_this_repository_are_read(file: Path) -> None:
    assert from_text(file.read_text(), file.parent.name).experiments
    records = file.with_name("records.jsonl")
    assert runs(read(records.read_text(), records.name))
