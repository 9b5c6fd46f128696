from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kit.compose.stats import between


def test_who_began_anew_or_is_not_there_at_both_looks_is_left_out() -> None:
    before = {"router": 7.0, "chat": 30.0, "gone": 2.0}
    assert between(before, {"router": 8.25, "chat": 1.0, "new": 5.0}) == {"router": 1.25}


USED = st.dictionaries(st.sampled_from(["router", "chat", "small"]), st.floats(0, 1e6))


@given(USED, USED)
def test_nobody_uses_less_than_nothing(before: dict[str, float], after: dict[str, float]) -> None:
    found = between(before, after)
    assert found.keys() <= before.keys() & after.keys() and all(used >= 0 for used in found.values())
