from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from kit.bench.html.names import unique
from tests.support.anybench import NASTY


def test_a_name_becomes_small_letters_and_dashes() -> None:
    assert unique(["policy, Large: p99 / TTFT", "../../etc/passwd"], "x") == ["policy-large-p99-ttft", "etc-passwd"]


def test_the_same_name_gets_a_number_and_one_without_letters_a_word() -> None:
    assert unique(["a b", "a-b", "a-b-2", "A B", "🦙", ""], "chart") == [
        "a-b", "a-b-2", "a-b-2-2", "a-b-3", "chart", "chart-2",
    ]  # fmt: skip


@given(st.lists(NASTY | st.text(max_size=200), max_size=8))
def test_names_are_unique_and_fit_files_and_links(names: list[str]) -> None:
    made = unique(names, "chart")
    assert len(set(made)) == len(made) == len(names)
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", one) and len(one) < 70 for one in made)
