from __future__ import annotations

from kit.doctor.model import Finding
from kit.output.checks import findings_lines

FINDINGS = (
    Finding("docker", "ok", "Engine 28.5.1, cgroup v2", "never shown"),
    Finding(
        "card", "fail", "no NVIDIA driver answers here, and here the words go on until they have to wrap", "fix me"
    ),
    Finding("clock", "unknown", "there is no other clock", ""),
)


def test_findings_wrap_under_themselves_and_a_fix_stays_in_one_line() -> None:
    assert [line.plain for line in findings_lines(FINDINGS, 60)] == [
        "ok    docker              Engine 28.5.1, cgroup v2",
        "FAIL  card                no NVIDIA driver answers here, and here",
        "                          the words go on until they have to wrap",
        "      -> fix me",
        "?     clock               there is no other clock",
        "",
        "1 ok, 1 failure, 1 unknown",
    ]


def test_colour_only_repeats_what_the_words_say() -> None:
    coloured = [
        (line.plain[span.start : span.end], span.style) for line in findings_lines(FINDINGS, 60) for span in line.spans
    ]
    assert coloured == [("ok", "green"), ("FAIL", "bold red"), ("?", "cyan")]


def test_when_everything_is_good_that_is_said() -> None:
    assert [line.plain for line in findings_lines(FINDINGS[:1], 80)][-1] == "1 ok"
