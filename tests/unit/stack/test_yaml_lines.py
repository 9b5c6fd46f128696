from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from kit.stack.model import Secret
from kit.stack.yaml_lines import WIDTH, Alias, Anchored, Arguments, Flow, Node, lines, rows, scalar
from tests.support.strategies import ODD, TEXT

SOME = st.lists(TEXT | ODD, min_size=1, max_size=4)


def read(text: str) -> Any:
    """What YAML 1.1 and YAML 1.2 agree on."""
    found = yaml.safe_load(text)
    assert YAML(typ="safe", pure=True).load(text) == found
    return found


def printed(keys: dict[str, Node]) -> str:
    return "".join(f"{line}\n" for line in lines(keys))


@given(TEXT | ODD)
@example("a: b")
@example("a #b")
@example("a:")
def test_text_comes_back_as_it_was_wherever_it_stands(text: str) -> None:
    where: dict[str, Node] = {"below": [text, {"key": text}], "behind": text, "row": Arguments(("--flag", text, text))}
    where |= {"list": Flow([text, text]), "mapping": Flow({"key": text, "last": text})}
    assert read(printed(where)) == {
        "below": [text, {"key": text}],
        "behind": text,
        "row": ["--flag", text, text],
        "list": [text, text],
        "mapping": {"key": text, "last": text},
    }


@given(TEXT | ODD)
def test_a_key_comes_back_as_it_was(key: str) -> None:
    assert read(printed({key: "value", "inside": Flow({key: "value"})})) == {key: "value", "inside": {key: "value"}}


@given(
    st.lists(st.text("abc,; $'\"\\#:-[{&*", max_size=12) | TEXT, min_size=20, max_size=40),
    st.sampled_from([" ", "; ", "\n"]),
)
def test_long_text_comes_back_as_it_was(words: list[str], between: str) -> None:
    text = between.join(words)
    where: dict[str, Node] = {"a": text, "b": [text], "c": {"d": {"e": text}}, "f": Flow([text, "x"])}
    assert read(printed(where)) == {"a": text, "b": [text], "c": {"d": {"e": text}}, "f": [text, "x"]}


PLAIN = "chat org/model:v1.0 ./smg ../x /tmp:size=1,exec --flag -c 0.0.0.0 127.0.0.1:30000:30000 631s 8000/metrics"
PLAIN += " no-new-privileges:true GPU-0c5a a.b-c_d nvidia.com/gpu=0 x:y http://a/ 1.2.3 v1 e5 $HOME yes-no nullable"


@pytest.mark.parametrize("text", [*PLAIN.split(), "a card of 17179869184", "original/* consolidated*", "it's"])
def test_what_all_readers_take_for_text_has_no_quotes(text: str) -> None:
    assert lines({"key": text}) == [f"key: {text}"]


QUOTED = "yes No ON off y N true FALSE null ~ 1 -1 +1 0 007 0x10 0o7 0b1 1_000 1.5 .5 1. 1e3 1E-05 .inf -.NaN 1:30"
QUOTED += " 65532:65532 2026-01-01 2001-1-1T00:00:00Z = << - -- * & ! | > ? : , [ ] { } # % @ ` ' é 🦙 --- ..."


@pytest.mark.parametrize("text", [*QUOTED.split(), "", " a", "a ", "a: b", "a #b", "a:", "a\tb"])
def test_what_a_reader_could_take_for_something_else_is_quoted(text: str) -> None:
    assert scalar(text)[0] == scalar(text, flow=False)[0] == '"'


def test_between_brackets_a_comma_or_a_bracket_is_quoted_too() -> None:
    assert [scalar("a,b", flow=False), scalar("a,b")] == ["a,b", '"a,b"']
    assert lines({"HF_TOKEN": Secret("HF_TOKEN", "", required=False)}) == ["HF_TOKEN: ${HF_TOKEN:-}"]


def test_single_quotes_spare_backslashes() -> None:
    assert scalar('{"a": "it\'s"}') == """'{"a": "it''s"}'"""


def test_what_is_no_text_is_printed_plain() -> None:
    assert [scalar(True), scalar(False), scalar(7), scalar(Alias("chat"))] == ["true", "false", "7", "*chat"]


def test_a_secret_is_a_variable_that_must_be_set_or_may_be() -> None:
    assert scalar(Secret("KEY", "the key")) == '"${KEY:?the key}"'
    assert scalar(Secret("KEY", "the key"), flow=False) == "${KEY:?the key}"
    assert scalar(Secret("KEY", "the key", required=False)) == '"${KEY:-}"'


def test_a_flag_is_printed_with_its_values_in_one_row() -> None:
    items = ("org/model", "--port", "8000", "--sizes", "1", "2", "--eager")
    assert rows(items) == [["org/model"], ["--port", "8000"], ["--sizes", "1", "2"], ["--eager"]]
    assert rows(("-c", "pass", "x")) == [["-c"], ["pass"], ["x"]]


@given(SOME)
def test_rows_lose_nothing(items: list[str]) -> None:
    assert [item for row in rows(items) for item in row] == items


def test_a_row_that_is_too_long_goes_on_deeper() -> None:
    made = lines({"command": Arguments(("--sizes", *(str(100 + n) for n in range(20)), "--eager"))})
    assert [line[:12] for line in made] == ["command: [", '  --sizes, "', '      "115",', "  --eager,", "  ]"]
    assert max(map(len, made)) <= WIDTH


def test_the_items_of_a_list_are_all_in_a_line_or_none() -> None:
    short, long = Flow({"source": "./a", "target": "/a"}), Flow({"source": f"./{'a' * 60}", "target": f"/{'a' * 60}"})
    assert lines({"volumes": [short, "b:/b"]}) == ["volumes:", "  - {source: ./a, target: /a}", "  - b:/b"]
    assert lines({"volumes": [short, long]})[1:3] == ["  - source: ./a", "    target: /a"]


def test_a_script_is_printed_as_it_is_written_and_a_long_line_is_folded_behind_its_clauses() -> None:
    assert lines({"run": ["sh", "set -e\n  exit $?\n"]}) == ["run:", "  - sh", "  - |", "    set -e", "      exit $?"]
    clause = "a clause that is as long as half a line of text but for a few letters;"
    assert lines({"run": " ".join([clause] * 2)}) == ["run: >-", f"  {clause}", f"  {clause}"]


def test_an_anchor_is_printed_behind_the_key_and_only_aliases_are_merged() -> None:
    shared: dict[str, Node] = {"x-a": Anchored("a", {"b": "1"}), "x-t": Anchored("t", "text")}
    merging: dict[str, Node] = {
        "c": {"<<": Alias("a")},
        "d": Flow({"<<": Flow([Alias("a")]), "e": Alias("t")}),
        "<<": "f",
    }
    text = printed(shared | merging | {"<<": "f"})
    assert text == 'x-a: &a\n  b: "1"\nx-t: &t text\nc:\n  <<: *a\nd: {<<: [*a], e: *t}\n"<<": f\n'
    assert yaml.safe_load(text) == {
        "x-a": {"b": "1"}, "x-t": "text", "c": {"b": "1"}, "d": {"b": "1", "e": "text"}, "<<": "f"
    }  # fmt: skip
