"""Whatever happens in a verb becomes words and an exit code."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable

import pytest

from kit.errors import (
    DoesNotFit,
    KitError,
    ManifestError,
    Mark,
    ModelFilesError,
    Problem,
    TargetError,
    VerificationError,
)
from kit.gpu import GpuError
from kit.output.console import Output
from tests.support.paths import ROOT


def guarded(walk: Callable[[], int], as_json: bool = False) -> tuple[int, str, str]:
    output = Output(io.StringIO(), io.StringIO(), as_json)
    code = output.guard(walk)
    assert isinstance(output.out, io.StringIO) and isinstance(output.err, io.StringIO)
    return code, output.out.getvalue(), output.err.getvalue()


def raising(error: BaseException) -> Callable[[], int]:
    def walk() -> int:
        raise error

    return walk


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (KitError, 1),
        (ManifestError, 2),
        (DoesNotFit, 3),
        (TargetError, 4),
        (GpuError, 4),
        (VerificationError, 5),
        (ModelFilesError, 6),
    ],
)
def test_every_stage_has_its_exit_code(kind: type[KitError], code: int) -> None:
    assert guarded(raising(kind("what happened"))) == (code, "", "what happened\n")


def test_a_good_walk_s_code_is_the_verb_s() -> None:
    assert guarded(lambda: 0) == (0, "", "")
    assert guarded(lambda: 5) == (5, "", "")


def test_evidence_stands_below_the_problems() -> None:
    error = TargetError([Problem("one"), Problem("two", "needed: more")], evidence="last\nwords")
    assert guarded(raising(error))[2] == "one\ntwo; needed: more\n    last\n    words\n"


def test_json_has_every_problem_with_its_place_and_words_stay_on_stderr() -> None:
    problem = Problem(
        "what", "needed", "hint", ("models", 1, "context"), Mark("monogpu.yaml", 14, 5, "    context: 8x")
    )
    code, out, err = guarded(raising(ManifestError(problem)), as_json=True)
    said = {"file": "monogpu.yaml", "line": 14, "column": 5, "path": "models[1].context"}
    said |= {"what": "what", "needed": "needed", "hint": "hint"}
    assert code == 2
    assert json.loads(out) == {"version": 1, "ok": False, "exit_code": 2, "problems": [said], "evidence": ""}
    assert err.startswith("monogpu.yaml:14:5: models[1].context: what; needed; hint\n")


def test_an_interrupt_is_one_word() -> None:
    code, out, err = guarded(raising(KeyboardInterrupt()))
    assert (code, out, err) == (130, "", "interrupted\n")


def test_our_own_bug_is_one_sentence_and_a_report_to_paste() -> None:
    code, out, err = guarded(raising(ZeroDivisionError("by zero")))
    first, *report = err.splitlines()
    assert (code, out) == (1, "")
    assert first == "this is a bug in monogpu-kit; please report it with the text below"
    assert all(line.startswith("    ") for line in report)
    assert report[-1] == "    ZeroDivisionError: by zero"


@pytest.mark.parametrize(("columns", "width"), [("", 100), ("nonsense", 100), ("160", 160), ("3", 40)])
def test_a_stream_that_is_no_terminal_has_a_steady_width(columns: str, width: int) -> None:
    code = (
        "import os, sys; from kit.output.console import Output; "
        "print(Output(sys.stdout, sys.stderr, environ=os.environ).console().width)"
    )
    place = {"COLUMNS": columns, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=place, capture_output=True, text=True, check=True)
    assert done.stdout == f"{width}\n"
