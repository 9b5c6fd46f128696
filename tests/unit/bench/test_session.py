"""The end of a walk, whatever ended it. Whole walks are in test_bench_real.py."""

from __future__ import annotations

import io
from pathlib import Path

from kit.bench.results_dir import ResultsDir
from kit.bench.session import write_down
from kit.bench.steps import Session
from tests.support.benchfolder import bench_of, copied, do, folder_of, some


def said(session: Session) -> str:
    assert isinstance(session.output.err, io.StringIO)
    return session.output.err.getvalue()


def test_where_the_results_are_is_said(tmp_path: Path) -> None:
    session = copied(tmp_path)
    files = ResultsDir.at(folder_of(session))
    do(files, *some(session), upto=1)
    write_down(session, some(session), files)
    folder = folder_of(session)
    assert said(session) == f"wrote {folder}/bench.json; `monogpu-kit report {folder}` makes a page of it\n"
    assert [one.name for one in bench_of(session).experiments] == ["router"]


def test_a_bench_json_that_cannot_be_read_is_said_and_left_and_hides_nothing_else(tmp_path: Path) -> None:
    session = copied(tmp_path)
    files = ResultsDir.at(folder_of(session))
    do(files, *some(session), upto=1)
    (folder_of(session) / "bench.json").write_text("mine")
    write_down(session, some(session), files)
    assert said(session).startswith(f"the results are in {folder_of(session)}, but its bench.json cannot be ")
    assert (folder_of(session) / "bench.json").read_text() == "mine"
