"""A changed command in the words of its flags."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kit.compose.operation import command_changes

BEFORE = ("org/model", "--max-model-len", "1024", "--enforce-eager", "--sizes", "1", "2")


def test_flags_that_changed_came_or_went_are_said() -> None:
    after = ("org/model", "--max-model-len", "512", "--sizes", "1", "4", "--lora")
    assert (
        command_changes(BEFORE, after) == "--max-model-len 1024 -> 512, - --enforce-eager, --sizes 1 2 -> 1 4, + --lora"
    )
    assert command_changes(BEFORE, ("org/other", *BEFORE[1:])) == "org/model -> org/other"


def test_nothing_is_said_of_the_same_or_of_what_was_not_known() -> None:
    assert command_changes(BEFORE, BEFORE) == ""
    assert command_changes((), BEFORE) == ""


def test_of_many_differences_the_first_are_said() -> None:
    after = tuple(f"--{n}" for n in range(7))
    assert command_changes(("--x",), after) == "- --x, + --0, + --1, + --2, and 4 more"


WORDS = st.lists(st.sampled_from(["--a", "--b", "1", "2", "x"]), max_size=6)


@given(WORDS, WORDS)
def test_different_flags_are_never_passed_over(before: list[str], after: list[str]) -> None:
    said = command_changes(before, after)
    assert not said or before != after
