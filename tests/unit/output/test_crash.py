"""The report of our own bug: what it names, and that nothing private is in it."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kit.doctor.collect import versions
from kit.errors import KitError
from kit.output.console import Output
from kit.output.crash import REMOVED, SHORTEST, report, scrubbed
from tests.support.paths import ROOT

VERSIONS = {"monogpu-kit": "0.1.0", "Python": "3.13.1", "OS": "Linux 6.12.0-amd64 x86_64", "Docker": "28.5.1"}
NAMES = ("monogpu-kit", "Python", "OS", "Docker", "Docker Compose", "NVIDIA driver")
HEX, BASE64 = "0123456789abcdef", "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
QUOTES: tuple[Callable[[str], str], ...] = (str, repr, json.dumps, lambda text: repr(text.encode()), lambda t: f"({t})")


def crash(error: BaseException, environ: dict[str, str] | None = None, home: str = "/home/anna") -> str:
    try:
        try:
            raise error
        except BaseException as first:
            raise RuntimeError(f"while handling {first}") from first
    except RuntimeError as second:
        return report(second, "plan --gpu", VERSIONS, environ or {}, home)


def test_a_report_has_the_versions_the_command_and_the_traceback() -> None:
    lines = crash(ZeroDivisionError("by zero")).splitlines()
    assert lines[:5] == [
        "monogpu-kit: 0.1.0", "Python: 3.13.1", "OS: Linux 6.12.0-amd64 x86_64", "Docker: 28.5.1",
        "command: plan --gpu",
    ]  # fmt: skip
    assert lines[5] == "Traceback (most recent call last):"
    assert "ZeroDivisionError: by zero" in lines and lines[-1] == "RuntimeError: while handling by zero"


def test_files_are_named_by_their_place_in_the_package_alone() -> None:
    output = Output(io.StringIO(), io.StringIO(), command="check")
    assert output.guard(lambda: json.loads("{")) == 1
    assert isinstance(output.err, io.StringIO)
    files = re.findall(r'File "([^"]+)", line \d+', output.err.getvalue())
    assert files[0] == "kit/output/console.py" and files[-1] == "json/decoder.py"
    assert not [file for file in files if file.startswith("/")]


# ---- nothing private


@given(
    st.dictionaries(st.sampled_from("ABCDEF"), st.text(min_size=SHORTEST, max_size=40), min_size=1),
    st.sampled_from(QUOTES),
)
def test_no_value_of_the_environment_is_in_a_report(environ: dict[str, str], quoted: Callable[[str], str]) -> None:
    """But for values that are in every report, such as a version."""
    always = crash(ValueError("cannot use "), dict.fromkeys(environ, "")) + REMOVED
    private = [value for value in environ.values() if value.strip(" /.:") and value not in always]
    assume(private and all(len(value.strip()) >= SHORTEST for value in private))
    found = crash(ValueError("cannot use " + ", ".join(map(quoted, environ.values()))), environ)
    assert not [value for value in private if value in found]


@given(st.from_regex(r"/[a-z]{4,9}/[a-z0-9.-]{3,12}", fullmatch=True), st.sampled_from(QUOTES))
def test_no_home_path_and_no_user_name_is_in_a_report(home: str, quoted: Callable[[str], str]) -> None:
    user = home.rpartition("/")[2]
    assume(user.strip(".-") == user and user not in crash(ValueError("not in  or ")) + REMOVED)
    said = crash(ValueError(f"not in {quoted(home + '/models/x')} or {quoted(home)}, {user}"), {"USER": user}, home)
    assert home not in said and not re.search(rf"(?<!\w){re.escape(user)}(?!\w)", said)


TOKENS = (
    st.text(BASE64[:62], min_size=8, max_size=40).map("hf_{}".format)
    | st.text(BASE64[:62] + "-_", min_size=12, max_size=60).map("sk-{}".format)
    | st.text(HEX, min_size=16, max_size=64)
    | st.text(BASE64, min_size=40, max_size=90).filter(lambda text: "/" not in text)
    | st.binary(min_size=24, max_size=60).map(lambda data: b64encode(data).decode())
)


@given(TOKENS, st.sampled_from(QUOTES), st.sampled_from(["", "token ", "Authorization: Bearer ", "HF_TOKEN="]))
def test_nothing_that_looks_like_a_token_is_in_a_report(token: str, quoted: Callable[[str], str], before: str) -> None:
    assert token not in crash(ValueError(f"refused {before}{quoted(token)}"))


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("GET https://anna:pass@proxy:3128/v2/", "GET https://[removed]@proxy:3128/v2/"),
        ("no /Users/anna/m and no /home/anna/m", "no ~/m and no ~/m"),
        ("C:\\Users\\anna\\m, /root/m", "~\\m, ~/m"),
        ("Authorization: Bearer abc", "Authorization: Bearer [removed]"),
        ("['MONOGPU_API_KEY=abc', 'B=c']", "['MONOGPU_API_KEY=[removed] 'B=c']"),
        ("github_pat_11AB, ghp_12345678 and AKIA12345678", "[removed], [removed] and [removed]"),
        ("list index out of range in kit/bench/experiments/memory_share.py",) * 2,
        ("gpu_memory_utilization of Qwen/Qwen2.5-1.5B-Instruct is 0.9",) * 2,
        ("\x1b[31mred\x1b[0m", "\N{REPLACEMENT CHARACTER}[31mred\N{REPLACEMENT CHARACTER}[0m"),
    ],
)
def test_what_is_removed_and_what_stays(text: str, left: str) -> None:
    assert scrubbed(text, ()) == left


def test_a_short_name_is_removed_as_a_word_and_a_long_key_line_by_line() -> None:
    assert scrubbed("bob has bobbins", ["bob"]) == "[removed] has bobbins"
    assert "second" not in scrubbed("the second line", ["first line\nsecond line"])


def test_a_version_that_is_none_is_unknown() -> None:
    assert "Docker: unknown" in report(ValueError(), "up", {"Docker": "x" * 99}, {}, "/root")


# ---- as it is printed


def test_versions_are_asked_for_and_unknown_where_nothing_answers() -> None:
    found = versions({"PATH": "/nowhere", "DOCKER_HOST": "tcp://127.0.0.1:9"})
    assert tuple(found) == NAMES
    assert (found["Docker"], found["Docker Compose"]) == ("unknown", "unknown")
    assert found["Python"] == ".".join(map(str, sys.version_info[:3]))


def run(line: str, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """A crash of the program itself: a command that does not exist."""
    code = f"""import sys, typer; sys.argv = ["monogpu-kit", *{words}]; from kit.cli import _run
try:
    {line}
except typer.Exit as end:
    sys.exit(end.exit_code)
"""
    place = {"PATH": "/nowhere", "DOCKER_HOST": "tcp://127.0.0.1:9", "PYTHONPATH": str(ROOT), **environ}
    return subprocess.run([sys.executable, "-c", code], env=place, capture_output=True, text=True, check=False)


def test_a_crash_is_one_sentence_and_a_report_with_exit_code_1() -> None:
    done = run("_run('nothing')", "nothing", A_KEY="s3cret-s3cret")
    assert (done.returncode, done.stdout) == (1, "")
    first, *report = done.stderr.splitlines()
    assert first == "this is a bug in monogpu-kit; please report it with the text below"
    assert [line.strip().partition(": ")[0] for line in report[: len(NAMES)]] == list(NAMES)
    assert report[len(NAMES)] == "    command: nothing"
    assert report[-1] == "    ModuleNotFoundError: No module named 'kit.commands.nothing'"
    assert str(ROOT) not in done.stderr


def test_no_value_of_a_file_of_variables_is_in_a_report(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("KEY='in dotenv'\n")
    (tmp_path / "router.env").write_text("KEY=in-an-env-file\n")
    (tmp_path / "broken.env").write_bytes(b"KEY=\xff\n")
    code = (
        "import sys; from kit.output.console import Output; output = Output(sys.stdout, sys.stderr, environ={}); "
        "output.guard(lambda: int('in dotenv or in-an-env-file or in-neither'))"
    )
    place = {"PATH": "/nowhere", "DOCKER_HOST": "tcp://127.0.0.1:9", "PYTHONPATH": str(ROOT)}
    argv = [sys.executable, "-c", code]
    done = subprocess.run(argv, cwd=tmp_path, env=place, capture_output=True, text=True, check=False)
    assert "ValueError" in done.stderr and "in-neither" in done.stderr
    assert "in dotenv" not in done.stderr and "in-an-env-file" not in done.stderr


def test_the_command_is_named_with_its_flags_and_without_their_values() -> None:
    words = ("plan", "secret.yaml", "--gpu", "hidden.json", "--short", "--json", "--unknown=1")
    done = run("_run('plan', 3, None, True, as_json=True)", *words)
    said = json.loads(done.stdout)
    assert (done.returncode, said["version"], said["ok"], said["exit_code"]) == (1, 1, False, 1)
    assert "command: plan --gpu --short --json\n" in said["evidence"]
    assert "secret" not in done.stdout + done.stderr and "hidden" not in done.stdout + done.stderr


def test_a_report_that_cannot_be_made_still_names_the_error() -> None:
    class Odd(Exception):
        def __str__(self) -> str:
            raise KitError("no text")

    output = Output(io.StringIO(), io.StringIO(), environ={"A": "x" * 5})
    error = Odd()
    assert output.guard(lambda: (_ for _ in ()).throw(error)) == 1
    assert isinstance(output.err, io.StringIO) and "Odd" in output.err.getvalue()
