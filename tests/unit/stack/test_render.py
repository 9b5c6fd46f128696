from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.assemble import assemble
from kit.memory.bill import Plan
from kit.stack.model import (
    Stack,
)
from kit.stack.render import (
    beside,
    checksum,
    comment,
    decide_write,
    is_ours,
    render,
)
from tests.support.paths import ROOT
from tests.support.said import read, said
from tests.support.strategies import TEXT, model, plan, plans, share, stacks

FEW = settings(max_examples=25)


@given(stacks())
def test_the_printed_file_says_exactly_the_stack(stack: Stack) -> None:
    assert read(render(stack).compose) == said(stack)


@given(plans())
def test_the_printed_file_says_exactly_the_plan(made: Plan) -> None:
    stack = assemble(made)
    assert read(render(stack).compose) == said(stack)


@FEW
@given(plans())
def test_services_are_printed_in_boot_order(made: Plan) -> None:
    stack = assemble(made)
    assert list(yaml.safe_load(render(stack).compose)["services"]) == [service.name for service in stack.services]


@given(TEXT, TEXT)
def test_a_comment_stays_a_comment(text: str, more: str) -> None:
    assert yaml.safe_load(f"{comment(text + more)}\nkey: 1\n") == {"key": 1}


@FEW
@given(stacks())
def test_the_same_stack_prints_the_same_bytes(stack: Stack) -> None:
    assert render(stack) == render(stack)


@pytest.mark.parametrize(
    "example", sorted(ROOT.glob("compose/*/docker-compose.yaml")), ids=lambda file: file.parent.name
)
def test_no_line_of_an_example_is_long_but_its_health_checks(example: Path) -> None:
    long = [line for line in example.read_text(encoding="utf-8").splitlines() if len(line) > 120]
    assert [line for line in long if not line.strip().startswith("test: [CMD, python3, -c, ")] == []


def test_three_models_are_at_most_310_lines() -> None:
    text = (ROOT / "compose" / "trio-16gb" / "docker-compose.yaml").read_text(encoding="utf-8")
    assert text.count("\n") <= 310


@given(TEXT, st.integers(0, 8))
def test_a_long_comment_goes_on_below_its_last_column(words: str, indent: int) -> None:
    lines = comment(f"  total   4.00 GiB  {'word ' * 40}{words}", indent).split("\n")
    assert len(lines) > 1 and all(len(line) <= 120 for line in lines[:2])
    assert all(line.lstrip().startswith(f"#{' ' * 21}word") for line in lines[1:2])


def test_another_process_prints_the_same_bytes() -> None:
    script = "from kit.stack.render import render\nfrom kit.assemble import assemble\n"
    script += "from tests.support.strategies import plan\n"
    script += "print(render(assemble(plan())).compose, end='')"
    printed = {
        subprocess.run(
            [sys.executable, "-c", script], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert printed == {render(assemble(plan())).compose}


@FEW
@given(stacks())
def test_a_printed_file_is_known_as_ours_until_it_is_edited(stack: Stack) -> None:
    text = render(stack).compose
    assert is_ours(text) == "ours"
    assert is_ours(text + "# mine\n") == "edited"
    assert is_ours(text.replace("restart", "Restart", 1)) == "edited"
    assert is_ours(text.split("\n", 1)[1]) == "foreign"
    assert is_ours("") == "foreign"


@FEW
@given(stacks())
def test_the_files_beside_are_recorded_by_their_checksum(stack: Stack) -> None:
    rendered = render(stack)
    assert beside(rendered.compose) == {file.path: checksum(file.text) for file in rendered.files}
    assert beside("services: {}\n") == {}


def test_a_models_words_cannot_record_a_file_beside() -> None:
    stack = replace(assemble(plan()), header=("beside it: smg/workers.json 0123456789abcdef",))
    assert beside(render(stack).compose) == {file.path: checksum(file.text) for file in stack.files}


OLD, NEW = render(assemble(plan())).compose, render(assemble(plan(share(model("other"))))).compose


@pytest.mark.parametrize(
    ("existing", "force", "decision"),
    [
        (None, False, "write"),
        (NEW, False, "keep"),
        (NEW, True, "keep"),
        (OLD, False, "write"),
        (OLD + "# mine\n", False, "edited"),
        (OLD + "# mine\n", True, "write"),
        ("services: {}\n", False, "foreign"),
        ("services: {}\n", True, "write"),
    ],
)
def test_only_the_kits_own_file_is_replaced(existing: str | None, force: bool, decision: str) -> None:
    assert decide_write(existing, NEW, force) == decision


@pytest.mark.parametrize(
    ("existing", "force", "printed", "decision"),
    [
        (None, False, None, "write"),
        ("new", False, None, "keep"),
        ("old", False, checksum("old"), "write"),
        ("mine", False, checksum("old"), "edited"),
        ("mine", True, checksum("old"), "write"),
        ("mine", False, None, "foreign"),
    ],
)
def test_a_file_beside_is_replaced_while_it_is_what_was_printed(
    existing: str | None, force: bool, printed: str | None, decision: str
) -> None:
    assert decide_write(existing, "new", force, printed) == decision
