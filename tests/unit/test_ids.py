"""scripts/test-ids finds a lost test, and a replacement that does not exist; the committed lists can be read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import ids
from tests.support.paths import ROOT

LISTS = ROOT / "tests" / "ids"
BEFORE = ("tests/a.py::test_x", "tests/a.py::test_y[1]", "tests/a.py::test_y[2 -> 3]", "tests/old/b.py::test_z")


def compare(now: tuple[str, ...], lines: str = "") -> ids.Result:
    return ids.compare(BEFORE, now, ids.rules(lines))


def test_nothing_is_lost_when_all_ids_are_there() -> None:
    assert compare((*BEFORE, "tests/new.py::test_more")) == ids.Result(4, 0, 0, ())


def test_a_vanished_id_is_found() -> None:
    assert compare(BEFORE[1:]) == ids.Result(3, 0, 0, ("vanished: tests/a.py::test_x",))
    assert compare((BEFORE[0], *BEFORE[2:])).faults == ("vanished: tests/a.py::test_y[1]",)


def test_a_replacement_that_does_not_exist_is_found() -> None:
    step = "tests/a.py::test_x -> tests/c.py::test_x"
    assert compare(BEFORE[1:], step).faults == (f"replaced by what does not exist: {step}",)
    assert compare((*BEFORE[1:], "tests/c.py::test_x"), step) == ids.Result(3, 1, 0, ())


def test_a_file_carries_its_tests_and_their_parameters() -> None:
    now = ("tests/c.py::test_x", "tests/c.py::test_y[1]", "tests/new/b.py::test_z")
    lines = "tests/a.py -> tests/c.py\ntests/old/ -> tests/new/"
    lost = "tests/a.py::test_y[2 -> 3] -> tests/c.py::test_y[2 -> 3]"
    assert compare(now, lines).faults == (f"replaced by what does not exist: {lost}",)
    assert compare((*now, "tests/c.py::test_y[2 -> 3]"), lines) == ids.Result(0, 4, 0, ())


def test_a_file_may_be_split_and_a_test_may_not_lose_a_half() -> None:
    now = ("tests/c.py::test_x", "tests/d.py::test_y[1]", "tests/d.py::test_y[2 -> 3]", BEFORE[3])
    assert not compare(now, "tests/a.py -> tests/c.py\ntests/a.py -> tests/d.py").faults
    halves = "tests/old/b.py::test_z -> tests/e.py::test_1\ntests/old/b.py::test_z -> tests/e.py::test_2"
    lost = "replaced by what does not exist: tests/old/b.py::test_z -> tests/e.py::test_2"
    assert compare((*BEFORE[:3], "tests/e.py::test_1"), halves).faults == (lost,)


def test_the_most_special_line_counts_and_lines_follow_each_other() -> None:
    lines = (
        "tests/a.py -> tests/c.py\ntests/c.py -> tests/d.py\ntests/d.py::test_x -> tests/d.py::test_renamed\n"
        "tests/a.py::test_y[2 -> 3] -> tests/d.py::test_y[two]\n"
    )
    now = ("tests/d.py::test_renamed", "tests/d.py::test_y[1]", "tests/d.py::test_y[two]", BEFORE[3])
    assert compare(now, lines) == ids.Result(1, 3, 0, ())


def test_parameters_may_all_be_replaced_at_once() -> None:
    line = "tests/a.py::test_y[*] -> tests/a.py::test_w"
    assert not compare((BEFORE[0], BEFORE[3], "tests/a.py::test_w"), line).faults
    assert not compare((BEFORE[0], BEFORE[3], "tests/a.py::test_w[other]"), line).faults
    assert len(compare((BEFORE[0], BEFORE[3], "tests/a.py::test_v"), line).faults) == 2


def test_a_removed_test_needs_a_reason_in_words() -> None:
    assert compare(BEFORE[1:], "tests/a.py::test_x -> - x is no more") == ids.Result(3, 0, 1, ())
    for line in ("tests/a.py::test_x -> -", "tests/a.py::test_x -> - gone", "tests/a.py::test_x", "a b -> c"):
        with pytest.raises(ValueError, match="line 1: "):
            ids.rules(line)


def test_lines_in_a_circle_replace_nothing() -> None:
    circle = "tests/a.py::test_x -> tests/c.py::test_x\ntests/c.py::test_x -> tests/a.py::test_x"
    assert len(compare(BEFORE[1:], circle).faults) == 1


def test_a_line_that_no_test_needs_is_found() -> None:
    line = "tests/typo.py -> tests/c.py"
    assert compare(BEFORE, line).faults == (f"a line for no test of before: {line}",)
    assert not compare(BEFORE, "tests/a.py -> tests/c.py").faults


def test_a_list_of_ids_is_read_as_it_was_written_and_an_edit_is_found() -> None:
    odd = (*BEFORE, "tests/a.py::test_s[]", "tests/a.py::test_s[ [1] :: # ]", "tests/a.py::TestC::test_m[x]")
    text = ids.written(odd)
    assert sorted(ids.read(text)) == sorted(odd)
    with pytest.raises(ValueError, match="was edited"):
        ids.read(text.replace("    [1]\n", ""))
    with pytest.raises(ValueError, match="was edited"):
        ids.read("# 1 ids, sha256 0\ntests/a.py\n    [1]\n")


def test_ids_are_separated_from_what_pytest_prints_beside() -> None:
    output = "tests/a.py::test_y[a b]\n\ndocker: no test\n3 tests collected in 0.1s\nERROR tests/a.py::test_x - x\n"
    assert ids.collected(output) == ["tests/a.py::test_y[a b]"]


def test_tests_are_read_from_their_files() -> None:
    inner = "def helper():\n    def test_no(): ...\nclass TestC:\n    def test_m(self): ..."
    text = f"def test_a(): ...\nasync def test_b(): ...\n{inner}"
    assert ids.defined({"t.py": text}) == {"t.py::test_a", "t.py::test_b", "t.py::TestC::test_m"}


def test_the_script_ends_with_1_when_a_test_vanished(tmp_path: Path) -> None:
    before = ids.read((LISTS / "before.txt").read_text(encoding="utf-8"))
    (tmp_path / "now.txt").write_text("\n".join(before[1:]), encoding="utf-8")
    argv = [sys.executable, ROOT / "scripts" / "test-ids", tmp_path / "now.txt"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert " FAULTS" in done.stdout.splitlines()[-1] and before[0] in done.stdout


def test_the_committed_lists_can_be_read() -> None:
    before = ids.read((LISTS / "before.txt").read_text(encoding="utf-8"))
    assert len(before) > 3000 and len((LISTS / "since").read_text().strip()) == 40
    assert ids.rules((LISTS / "replaced.txt").read_text(encoding="utf-8")) is not None
