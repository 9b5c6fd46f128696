"""What `verify` prints for people."""

from __future__ import annotations

import io

from rich.console import Console

from kit.output.checks import grouped, verdict, verification
from kit.verify import Check, Verification

GOOD = (
    Check("/v1/models", "lists the declared names", True, "2 names", 0.04),
    Check("chat", "answers a token", True, "Paris [bold]is[/bold]", 1.26),
    Check("chat", "streams", True, "9 frames: Paris", 0.5),
)
BAD = Check("embed", "gives vectors", False, "a vector holds NaN or infinity", 0.1)


def printed(found: Verification) -> list[str]:
    stream = io.StringIO()
    console = Console(file=stream, width=100, highlight=False, no_color=True)
    for part in verification(found):
        console.print(part)
    return [line.strip() for line in stream.getvalue().splitlines() if line.strip()]


def test_each_check_is_a_line_and_a_name_is_said_once() -> None:
    lines = printed(Verification("http://127.0.0.1:30000", GOOD))
    assert lines[0] == "checks at http://127.0.0.1:30000/v1"
    assert [line.split() for line in lines[1:4]] == [
        ["✓", "/v1/models", "lists", "the", "declared", "names", "0.0", "s", "2", "names"],
        ["✓", "chat", "answers", "a", "token", "1.3", "s", "Paris", "[bold]is[/bold]"],
        ["✓", "streams", "0.5", "s", "9", "frames:", "Paris"],
    ]
    assert lines[4] == "all 3 checks are good (1.8 s)"


def test_what_failed_is_marked_and_counted() -> None:
    lines = printed(Verification("http://127.0.0.1:30000", (*GOOD, BAD)))
    assert next(line for line in lines if line.startswith("✗")).split()[1:4] == ["embed", "gives", "vectors"]
    assert "a vector holds NaN or infinity" in "\n".join(lines)
    assert lines[-1] == "1 of 4 checks failed (1.9 s)"


def test_what_could_not_be_asked_is_said() -> None:
    lines = printed(Verification("http://elsewhere", GOOD, ("whether workers are reachable: needs Docker",)))
    assert "not checked: whether workers are reachable: needs Docker" in lines


def test_a_long_answer_is_wrapped_and_not_cut() -> None:
    detail = "HTTP 503: " + " ".join(f"word{n}" for n in range(40))
    lines = printed(Verification("http://x", (Check("chat", "streams", False, detail, 0.1),)))
    assert all(f"word{n}" in " ".join(lines) for n in range(40))


def test_checks_of_one_name_stand_together_whenever_they_were_asked() -> None:
    late = Check("chat", "differs from base", True, "", 0.1)
    assert [list(grouped((*GOOD, BAD, late)))] == [["/v1/models", "chat", "embed"]]
    assert grouped((*GOOD, BAD, late))["chat"][-1] is late


def test_the_sum_is_one_line() -> None:
    assert verdict(Verification("u", (BAD,))) == "1 of 1 checks failed (0.1 s)"
