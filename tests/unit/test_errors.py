"""Problems as they are printed: where, what, the line and a caret; and one exit code a stage."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit import errors
from kit.errors import DoesNotFit, KitError, ManifestError, Mark, Problem, dotted, printable, quoted


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), ""),
        (("name",), "name"),
        (("models", 1, "context"), "models[1].context"),
        (("models", 0, "adapters", 2, "name"), "models[0].adapters[2].name"),
        (("models", 0, "env", "HF_HOME"), "models[0].env.HF_HOME"),
        (("models", 0, "env", "a.b"), 'models[0].env["a.b"]'),
        (("enforce-eager",), "enforce-eager"),
        (("",), '[""]'),
        (("a\x1b[31m",), '["a\N{REPLACEMENT CHARACTER}[31m"]'),
    ],
)
def test_a_path_is_dotted_and_odd_words_are_quoted(path: errors.KeyPath, text: str) -> None:
    assert dotted(path) == text


def test_a_problem_says_where_what_needed_and_hint_in_one_line() -> None:
    mark = Mark("monogpu.yaml", 14, 5)
    problem = Problem("'contxt' is unknown", "words: context", "did you mean 'context'?", ("models", 1, "contxt"), mark)
    assert str(problem) == (
        "monogpu.yaml:14:5: models[1].contxt: 'contxt' is unknown; words: context; did you mean 'context'?"
    )


def test_a_problem_without_a_place_is_its_text_alone() -> None:
    assert str(Problem("no driver")) == "no driver"
    assert str(Problem("no driver", hint="install one", path=("gpu",))) == "gpu: no driver; install one"


@pytest.mark.parametrize(
    ("line", "column", "excerpt"),
    [
        ("    context: 8k", 5, "        context: 8k\n        ^"),
        ("\tport: 1", 2, "     port: 1\n     ^"),
        ("名前: チャット", 5, "    名前: チャット\n          ^"),
        ("e\u0301: x", 5, "    e\u0301: x\n       ^"),
        ("a: \x1b[2J", 4, "    a: \N{REPLACEMENT CHARACTER}[2J\n       ^"),
        ("end", 4, "    end\n       ^"),
    ],
)
def test_the_caret_stands_under_the_column(line: str, column: int, excerpt: str) -> None:
    assert Mark("f", 1, column, line).excerpt() == excerpt


@pytest.mark.parametrize("line", ["", "   ", "\t"])
def test_a_line_without_text_is_not_quoted(line: str) -> None:
    assert Mark("f", 1, 1, line).excerpt() == ""
    assert str(Problem("x", mark=Mark("f", 1, 1, line))) == "f:1:1: x"


def test_of_a_long_line_the_part_around_the_place_is_quoted() -> None:
    line = "a" * 500 + "HERE" + "b" * 500
    shown, caret = Mark("f", 1, 501, line).excerpt().splitlines()
    assert len(shown) <= errors.LINE_WIDTH + 5
    assert shown[caret.index("^") :].startswith("HERE")
    assert shown.startswith("    …a")


def test_a_quoted_value_is_short_and_cannot_move_the_cursor() -> None:
    assert quoted("chat") == "'chat'"
    assert len(quoted("x" * 1000)) == errors.QUOTE_WIDTH + 2
    assert quoted("a\r\x1b[2J\u202eb") == "'a\ufffd\ufffd[2J\ufffdb'"


@given(st.text(), st.integers(1, 400))
def test_nothing_that_is_printed_moves_the_cursor(text: str, column: int) -> None:
    said = str(Problem(quoted(text), path=(text,), mark=Mark("f", 1, column, text)))
    assert all(char.isprintable() or char == "\n" for char in said)
    assert printable(text) == printable(printable(text))
    assert said.count("\n") in (0, 2)


def test_an_error_takes_a_text_a_problem_or_several() -> None:
    assert KitError("gone").problems == (Problem("gone"),)
    assert KitError(Problem("gone")).problems == (Problem("gone"),)
    both = KitError(iter([Problem("one"), Problem("two")]), evidence="log")
    assert (both.problems, both.evidence, str(both)) == ((Problem("one"), Problem("two")), "log", "one\ntwo")


def test_each_stage_has_its_exit_code() -> None:
    codes = {
        kind.__name__: kind.exit_code
        for kind in (KitError, *KitError.__subclasses__())
        if kind.__module__ == "kit.errors"
    }
    assert codes == {
        "KitError": 1,
        "ManifestError": 2,
        "DoesNotFit": 3,
        "TargetError": 4,
        "VerificationError": 5,
        "ModelFilesError": 6,
    }
    assert issubclass(ManifestError, KitError)
    assert DoesNotFit("no").evidence == ""
