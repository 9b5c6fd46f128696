"""Who holds the memory that a worker needs, and workers that hold more than was planned."""

from __future__ import annotations

from kit.gpu import Gpu, Process
from kit.planner.admission import Footprint, Promise, compare, no_room
from kit.units import GIB

CARD = Gpu("RTX", 16 * GIB, 4 * GIB, processes=(Process(7, "python3", 12 * GIB), Process(8, "hidden", 0)))


def promise(gibs: int, service: str = "chat") -> Promise:
    return Promise(service, gibs * GIB, "RTX", 16 * GIB)


def test_what_a_card_lacks_names_who_holds_it() -> None:
    assert no_room([promise(4)], CARD, {}) is None
    full = no_room([promise(5)], CARD, {})
    assert full is not None
    assert full.what == "chat needs 5.00 GiB, and 4.00 GiB are free on RTX"
    assert full.needed == "needed: 1.00 GiB more; python3 (pid 7) holds 12.00 GiB"
    other = no_room([promise(17)], Gpu("RTX", 16 * GIB, 16 * GIB), {})
    assert other is not None and other.needed.endswith("the driver lists no process")


def test_what_ends_before_is_free_for_what_starts() -> None:
    both = [promise(8), promise(8, "code")]
    assert no_room(both, CARD, {7: 12 * GIB}) is None
    full = no_room([*both, promise(1, "tiny")], CARD, {7: 12 * GIB})
    assert full is not None and full.what == "chat, code, tiny need 17.00 GiB, and 16.00 GiB are free on RTX"


def test_a_worker_is_off_when_it_holds_over_3_percent_more_than_planned() -> None:
    (chat, code) = compare({"chat": 12 * GIB, "code": GIB}, {"chat": [7, 8], "code": [9]}, CARD)
    assert (chat, code) == (Footprint("chat", 12 * GIB, 12 * GIB), Footprint("code", GIB, None))
    assert [Footprint("chat", planned, 100).off for planned in (96, 98, 100, 200)] == [True, False, False, False]
    assert not code.off
