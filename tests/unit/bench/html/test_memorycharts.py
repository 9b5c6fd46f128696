from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from kit.bench.html.memorycharts import memory_charts, off, planned, total
from kit.bench.results import (
    Bench,
    MeasuredFootprint,
)
from kit.units import GIB
from tests.support.anybench import FOOTPRINTS
from tests.support.benches import EXAMPLE

TWO = (
    MeasuredFootprint("chat", (("weights", 3 * GIB), ("kv", GIB)), 5 * GIB),
    MeasuredFootprint("tiny", (("weights", GIB),), None),
)


def bench(*memory: MeasuredFootprint, **card: object) -> Bench:
    return replace(EXAMPLE, memory=memory, setup=replace(EXAMPLE.setup, card={"total_bytes": 16 * GIB} | card))


def test_the_card_is_filled_by_the_bill_and_by_what_the_driver_showed() -> None:
    card, _ = memory_charts(bench(*TWO))
    assert [(row.name, [(part.name, part.begin, part.end) for part in row.parts]) for row in card.rows] == [
        ("planned", [("chat", 0, 4), ("tiny", 4, 5), ("free", 5, 16)]),
        ("measured", [("chat", 0, 5)]),
    ]
    assert (card.rows[1].value, card.rows[1].note, card.limit) == ("5.00 GiB, 31%", "tiny: unknown", 16)


def test_where_the_driver_tells_nothing_nothing_is_drawn_as_held() -> None:
    card, workers = memory_charts(bench(TWO[1]))
    assert [row.name for row in card.rows] == ["planned"]
    assert (workers.marked, workers.rows[0].mark) == ("", None)


def test_a_card_of_unknown_size_has_no_end() -> None:
    for size in (None, "16GiB", True, 0, -1):
        given_ = bench(*TWO, total_bytes=size)
        card, _ = memory_charts(given_)
        assert total(given_) is None and card.limit is None and "unknown" in card.caption
        assert all(part.name != "free" for row in card.rows for part in row.parts)


def test_where_others_held_much_of_the_card_it_ends_at_what_they_left() -> None:
    card, _ = memory_charts(bench(*TWO, free_bytes=10 * GIB))
    assert card.limit == 10 and card.caption == "by worker; other programs left 10.00 GiB of the card's 16.00 GiB"
    assert card.rows[0].value == "5.00 GiB, 50%"
    for little in (15 * GIB, 0, True, "10GiB"):
        card, _ = memory_charts(bench(*TWO, free_bytes=little))
        assert card.limit == 16 and card.caption == "by worker; the card ends at 16.00 GiB"


def test_the_largest_terms_have_names_and_the_rest_is_one_part() -> None:
    many = MeasuredFootprint("chat", tuple((f"term {n}", n * GIB) for n in range(1, 9)), 40 * GIB)
    _, workers = memory_charts(bench(many))
    assert workers.legend == ("term 8", "term 7", "term 6", "term 5", "term 4", "other")
    assert [part.end - part.begin for part in workers.rows[0].parts] == [8, 7, 6, 5, 4, 6]


def test_a_term_that_is_named_as_the_rest_is_part_of_it() -> None:
    _, workers = memory_charts(bench(MeasuredFootprint("chat", (("other", 3 * GIB), ("weights", GIB)), None)))
    assert workers.legend == ("weights", "other")
    assert [(part.name, part.begin, part.end) for part in workers.rows[0].parts] == [("weights", 0, 1), ("other", 1, 4)]


def test_the_bill_is_told_beside_the_driver_s_figure() -> None:
    assert off(TWO[0]) == "4.00 GiB planned, 5.00 GiB measured (-20.0%)"
    assert off(TWO[1]) == "1.00 GiB planned, measured: unknown"


@given(st.lists(FOOTPRINTS, max_size=4))
def test_no_byte_of_the_bill_is_lost(memory: list[MeasuredFootprint]) -> None:
    for chart in list(memory_charts(bench(*memory)))[1:]:
        drawn = [sum(part.end - part.begin for part in row.parts) * GIB for row in chart.rows]
        assert drawn == [planned(one) for one in memory if planned(one)]
        assert len(chart.legend) <= 6
