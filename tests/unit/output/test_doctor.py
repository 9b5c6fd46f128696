from __future__ import annotations

from kit.doctor.finding import Finding
from kit.output.doctor import lines

FINDINGS = (
    Finding("docker", "ok", "Engine 28.5.1, cgroup v2", "never shown"),
    Finding(
        "card", "fail", "no NVIDIA driver answers here, and here the words go on until they have to wrap", "fix me"
    ),
    Finding("clock", "unknown", "there is no other clock", ""),
)


def test_findings_wrap_under_themselves_and_a_fix_stays_in_one_line() -> None:
    assert [line for line, _ in lines(FINDINGS, 60)] == [
        "ok    docker              Engine 28.5.1, cgroup v2",
        "FAIL  card                no NVIDIA driver answers here, and here",
        "                          the words go on until they have to wrap",
        "      -> fix me",
        "?     clock               there is no other clock",
        "",
        "1 good, 1 to be fixed, 1 unknown",
    ]


def test_colour_only_repeats_what_the_words_say() -> None:
    assert [colour for _, colour in lines(FINDINGS, 60)] == ["green", "bold red", "", "", "cyan", "", ""]


def test_when_everything_is_good_that_is_said() -> None:
    assert list(lines(FINDINGS[:1], 80))[-1] == ("all 1 are good", "")
