from __future__ import annotations

from pathlib import Path

from tests.chaos.table import Row, lines, record, recorded

KILLED = Row("killed", "status: restarts", (40, 0), "2 requests to chat (500)", 3.14)
GATED = Row("gated", "line, cause, fix", (7, 0), "nothing")


def test_the_table_is_aligned_and_leaves_out_what_does_not_apply() -> None:
    assert lines([KILLED, GATED, Row("reboot", "nothing", (0, 0), "9 requests", 8.0)]) == [
        "fault   what the user sees  others: sent, failed  lost                      serves again after",
        "killed  status: restarts    40, 0                 2 requests to chat (500)  3.1 s",
        "gated   line, cause, fix    7, 0                  nothing",
        "reboot  nothing                                   9 requests                8.0 s",
    ]


def test_a_run_replaces_the_rows_that_it_has_and_keeps_the_others(tmp_path: Path) -> None:
    path = tmp_path / "chaos.json"
    record([KILLED, GATED], path)
    record([Row("new", "", (1, 0), ""), Row("killed", "", (5, 0), "", 1.0)], path)
    assert [(row.fault, row.seconds) for row in recorded(path)] == [("killed", 1.0), ("gated", None), ("new", None)]
    assert recorded(path)[1] == GATED
