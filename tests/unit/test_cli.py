"""Verbs as they are typed: exit codes, streams, words. What needs Docker is in test_walk_docker.py."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from tests.support.paths import GOLDEN
from tests.support.typed import ROOT, kit

BAD = GOLDEN / "bad"
TRIO = ROOT / "compose" / "trio-16gb"
VERBS = (
    "init",
    "check",
    "plan",
    "render",
    "up",
    "verify",
    "status",
    "logs",
    "down",
    "doctor",
    "calibrate",
    "bench",
    "gpu",
    "facts",
    "cost",
    "report",
    "schema",
)
CHAT = "name: small\nmodels:\n  - name: chat\n    source: Qwen/Qwen2.5-1.5B-Instruct\n    context: 8k\n"


@pytest.fixture
def trio(tmp_path: Path) -> Path:
    """The example in a folder where it may be changed."""
    for name in ("monogpu.yaml", "gpu.json", "facts.json"):
        shutil.copy(TRIO / name, tmp_path)
    return tmp_path


def write(folder: Path, text: str) -> None:
    (folder / "monogpu.yaml").write_text(text)


# ---- help


def test_help_names_every_verb() -> None:
    said = kit("--help").good().out
    assert set(VERBS) <= set(re.findall(r"^ +([a-z]+) ", said, re.MULTILINE))


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself(verb: str) -> None:
    assert kit(verb, "-h").good().out == kit(verb, "--help").good().out != ""


def test_the_version_is_the_package_s() -> None:
    import kit as package

    assert kit("--version").good().out == f"monogpu-kit {package.__version__}\n"
    assert f'version = "{package.__version__}"' in (ROOT / "pyproject.toml").read_text()


def test_help_is_imperative_and_plain() -> None:
    """In the list each help is a whole sentence that begins with a verb."""
    said = kit("--help").good().out
    assert "..." not in said.partition("Commands:")[2]
    helps = dict(re.findall(r"^ +([a-z]+) {2,}(\w+)[ :]", said.partition("Commands:")[2], re.MULTILINE))
    assert helps == {
        "init": "Write", "check": "Read", "plan": "Print", "render": "Write", "up": "Start", "verify": "Ask",
        "status": "Show", "logs": "Show", "down": "Stop", "doctor": "Check", "calibrate": "Measure", "bench": "Measure",
        "gpu": "Record", "facts": "Record", "cost": "Compare", "report": "Write", "schema": "Print",
    }  # fmt: skip


def test_logs_follow_with_f_as_in_docker_and_take_the_manifest_last() -> None:
    said = kit("logs", "-h").good().out
    assert re.search(r"Usage: \S+ logs \[OPTIONS\] \S*NAME\S* \[FILE\]", said)
    assert re.search(r"-f, --follow", said) and "--file" not in said
    wrong = kit("logs", "chat", BAD / "six-mistakes.yaml", "-f")
    assert wrong.code == 2 and "six-mistakes.yaml:" in wrong.err


# ---- JSON


PRINT_JSON: dict[str, tuple[str | Path, ...]] = {
    "check": ("check", "--json"),
    "plan": ("plan", "--json"),
    "plan that does not fit": ("plan", "--gpu", "2GiB", "--json"),
    "cost": ("cost", "--price-per-hour", "1", "--json"),
    "schema": ("schema",),
    "doctor": ("doctor", "--json"),
    "up": ("up", "--json"),
    "verify": ("verify", "--json"),
    "status": ("status", "--json"),
    "down": ("down", "--json"),
    "calibrate": ("calibrate", "--json"),
    "report": ("report", "--json"),
    "a wrong manifest": ("check", BAD / "six-mistakes.yaml", "--json"),
}


@pytest.mark.parametrize("words", PRINT_JSON.values(), ids=PRINT_JSON)
def test_every_json_is_an_object_with_a_version(trio: Path, words: tuple[str | Path, ...]) -> None:
    """Where Docker does not answer too: what went wrong is an object as well."""
    place = {**os.environ, "PYTHONPATH": str(ROOT), "DOCKER_HOST": "tcp://127.0.0.1:9"}
    argv = [sys.executable, "-m", "kit.cli", *words]
    done = subprocess.run(argv, cwd=trio, env=place, capture_output=True, text=True, check=False)
    said = json.loads(done.stdout)
    assert next(iter(said)) == "version" and said["version"] == 1


def test_the_jsons_of_every_verb_were_asked_for() -> None:
    """`gpu` and a benchmark need a card; their JSON is made in one place with the others."""
    with_json = {verb for verb in VERBS if "--json" in kit(verb, "-h").out}
    assert with_json <= {words[0] for words in PRINT_JSON.values()}


# ---- check


def test_six_mistakes_are_six_located_messages_on_stderr() -> None:
    said = kit("check", "six-mistakes.yaml", at=BAD)
    assert (said.code, said.out) == (2, "")
    assert said.err == (BAD / "six-mistakes.txt").read_text()
    assert len(re.findall(r"^six-mistakes\.yaml:\d+:\d+: ", said.err, re.MULTILINE)) == 6


def test_the_same_mistakes_as_json() -> None:
    said = kit("check", "six-mistakes.yaml", "--json", at=BAD)
    assert (said.code, said.json["ok"], said.json["exit_code"]) == (2, False, 2)
    found = [(problem["line"], problem["column"], problem["path"]) for problem in said.json["problems"]]
    assert (10, 5, "models[0].contxt") in found and len(found) == 6
    assert all(problem["what"] and problem["needed"] for problem in said.json["problems"])


@pytest.mark.parametrize("verb", ["check", "plan", "render", "up", "verify", "status", "down", "facts"])
def test_every_verb_refuses_a_wrong_manifest_before_anything_else(verb: str) -> None:
    said = kit(verb, "six-mistakes.yaml", at=BAD)
    assert (said.code, said.out, said.err) == (2, "", (BAD / "six-mistakes.txt").read_text())


def test_no_manifest_says_how_to_get_one(tmp_path: Path) -> None:
    said = kit("check", at=tmp_path)
    assert said.code == 2 and "monogpu.yaml: no such file" in said.err and "monogpu-kit init" in said.err


def test_a_folder_is_no_manifest(tmp_path: Path) -> None:
    said = kit("check", tmp_path)
    assert said.code == 2 and "is a folder" in said.err and "monogpu.yaml" in said.err


def test_a_good_manifest_says_its_names_and_its_endpoint() -> None:
    assert "chat, small, tiny behind 127.0.0.1:30000" in kit("check", TRIO / "monogpu.yaml").good().out


def test_check_as_json_is_the_manifest_with_its_defaults() -> None:
    said = kit("check", TRIO / "monogpu.yaml", "--json").good().json
    assert (said["ok"], said["problems"]) == (True, [])
    chat = said["manifest"]["models"][0]
    assert (chat["name"], chat["context"], chat["requests"], chat["engine"]) == ("chat", 8192, 32, "vllm")


# ---- plan


def test_a_size_is_a_card(trio: Path) -> None:
    plan = kit("plan", "--gpu", "23.5GiB", "--json", at=trio).good().json
    assert plan["gpu"]["total_bytes"] == int(23.5 * 1024**3)
    assert "consumer card" in " ".join(plan["notes"])


def test_a_size_that_cards_are_sold_with_leaves_programs_less(trio: Path) -> None:
    plan = kit("plan", "--gpu", "16GiB", "--json", at=trio).good().json
    assert plan["gpu"]["total_bytes"] == (16 * 1024 - 560) * 1024**2
    assert "15.45 GiB of 16 GiB are for programs" in " ".join(plan["notes"])


def test_a_card_has_a_name(trio: Path) -> None:
    said = kit("plan", "--gpu", "rtx-5080", "--json", at=trio).good().json
    assert (said["fits"], said["gpu"]["name"], said["gpu"]["compute_capability"]) == (
        True,
        "NVIDIA GeForce RTX 5080",
        "12.0",
    )
    assert said["gpu"]["total_bytes"] == 15841 * 1024**2
    assert sum(share["total_bytes"] for share in said["shares"]) <= said["usable_bytes"]
    wrong = kit("plan", "--gpu", "RTX 4009", at=trio)
    assert wrong.code == 4 and "did you mean 'RTX 4090'" in wrong.err


def test_more_memory_is_more_kv_cache(trio: Path) -> None:
    tokens = [
        sum(share["kv_tokens"] for share in kit("plan", "--gpu", size, "--json", at=trio).good().json["shares"])
        for size in ("16GiB", "20GiB", "24GiB")
    ]
    assert tokens == sorted(tokens) and tokens[0] < tokens[-1]


def test_what_does_not_fit_shows_the_bill_and_advice_that_fits_when_followed(trio: Path) -> None:
    write(trio, CHAT.replace("8k", "32k") + "    graphs: full\n    requests: 32\n")
    said = kit("plan", "--gpu", "4095MiB", at=trio)
    assert (said.code, said.out) == (3, "")
    assert re.match(r"monogpu\.yaml:5:14: models\[0\]\.context: 'chat' needs .* more than the card has", said.err)
    assert "context: 32k\n" in said.err and "weights" in said.err
    advised = re.search(r"- models\[0\]\.context: (\d+) \('chat'\)", said.err)
    assert advised, said.err
    write(trio, CHAT.replace("8k", advised[1]) + "    graphs: full\n    requests: 32\n")
    kit("plan", "--gpu", "4095MiB", at=trio).good()
    write(trio, CHAT.replace("8k", str(int(advised[1]) + 256)) + "    graphs: full\n    requests: 32\n")
    assert kit("plan", "--gpu", "4095MiB", at=trio).code == 3


def test_what_does_not_fit_has_the_same_shape_as_json(trio: Path) -> None:
    said = kit("plan", "--gpu", "2GiB", "--json", at=trio)
    assert (said.code, said.json["fits"], said.json["shares"]) == (3, False, [])
    assert said.json["problems"][0]["line"] and "what would fit" in said.json["bill"]


@pytest.mark.parametrize("card", ["nonsense", "16", "nothere.json", "-3GiB"])
def test_a_card_that_is_none_says_what_is_one(trio: Path, card: str) -> None:
    said = kit("plan", f"--gpu={card}", at=trio)
    assert said.code == 4 and "gpu.json" in said.err


def test_a_recorded_card_that_is_broken_says_what_is_missing(trio: Path) -> None:
    (trio / "gpu.json").write_text('{"name": "a card"}')
    said = kit("plan", at=trio)
    assert said.code == 4 and "gpu.json:1:1: total_bytes: is missing" in said.err


def test_models_without_files_are_all_named_at_their_lines(tmp_path: Path) -> None:
    write(tmp_path, "models:\n  - {name: one, source: ./nowhere}\n  - {name: two, source: ./nor-here}\n")
    said = kit("plan", "--gpu", "16GiB", at=tmp_path)
    assert said.code == 6
    assert re.search(r"monogpu\.yaml:2:\d+: models\[0\]\.source", said.err)
    assert re.search(r"monogpu\.yaml:3:\d+: models\[1\]\.source", said.err)


# ---- render


def test_render_writes_once_and_then_has_nothing_to_do(trio: Path) -> None:
    first = kit("render", at=trio).good().out
    assert "docker-compose.yaml" in first and "workers.json" in first
    before = {file: file.stat().st_mtime_ns for file in trio.rglob("*") if file.is_file()}
    assert "unchanged: " in kit("render", at=trio).good().out
    assert {file: file.stat().st_mtime_ns for file in trio.rglob("*") if file.is_file()} == before


def test_render_prints_to_stdout_and_writes_nothing(trio: Path) -> None:
    before = sorted(trio.rglob("*"))
    assert kit("render", "-o", "-", at=trio).good().out.startswith("# monogpu-kit: ")
    assert sorted(trio.rglob("*")) == before


def test_render_check_fails_when_the_manifest_says_something_else(trio: Path) -> None:
    assert kit("render", "--check", at=trio).code == 1
    kit("render", at=trio).good()
    kit("render", "--check", at=trio).good()
    write(trio, (trio / "monogpu.yaml").read_text().replace("context: 4k", "context: 2k"))
    said = kit("render", "--check", at=trio)
    assert said.code == 1 and "differs" in said.err


def test_a_file_edited_by_hand_is_kept_until_force(trio: Path) -> None:
    kit("render", at=trio).good()
    file = trio / "docker-compose.yaml"
    edited = file.read_text() + "# mine\n"
    file.write_text(edited)
    said = kit("render", at=trio)
    assert said.code == 1 and "edited by hand" in said.err and "--force" in said.err
    assert file.read_text() == edited
    kit("render", "--force", at=trio).good()
    assert "# mine" not in file.read_text()


def test_an_edited_list_of_workers_is_kept_too(trio: Path) -> None:
    kit("render", at=trio).good()
    (trio / "smg" / "workers.json").write_text("{}")
    said = kit("render", at=trio)
    assert said.code == 1 and "workers.json is left alone" in said.err


def test_an_unknown_target_is_named(trio: Path) -> None:
    said = kit("render", "--target", "nomad", at=trio)
    assert said.code == 2 and "nomad" in said.err and "compose" in said.err


# ---- init, schema


def test_init_writes_a_manifest_that_check_takes_and_a_schema_that_takes_it(tmp_path: Path) -> None:
    said = kit("init", "--gpu", "16GiB", at=tmp_path).good()
    assert "wrote monogpu.yaml for a card of 16GiB" in said.out and "next: monogpu-kit check;" in said.err
    kit("check", at=tmp_path).good()
    first = (tmp_path / "monogpu.yaml").read_text().splitlines()[0]
    beside = tmp_path / first.removeprefix("# yaml-language-server: $schema=")
    jsonschema.Draft202012Validator.check_schema(json.loads(beside.read_text()))


def test_init_without_a_card_to_ask_writes_what_starts_on_this_machine(tmp_path: Path) -> None:
    kit("init", at=tmp_path).good()
    kit("check", at=tmp_path).good()


def test_init_never_overwrites_without_force(tmp_path: Path) -> None:
    write(tmp_path, "mine")
    said = kit("init", "--gpu", "16GiB", at=tmp_path)
    assert said.code == 1 and "exists" in said.err and "--force" in said.err
    assert (tmp_path / "monogpu.yaml").read_text() == "mine"
    kit("init", "--gpu", "16GiB", "--force", at=tmp_path).good()
    assert (tmp_path / "monogpu.yaml").read_text() != "mine"


def test_init_elsewhere_says_what_to_type_there(tmp_path: Path) -> None:
    said = kit("init", "--gpu", "8GiB", "-o", "deep/small.yaml", at=tmp_path).good()
    assert "monogpu-kit plan deep/small.yaml" in said.err
    kit("check", "deep/small.yaml", at=tmp_path).good()
    assert (tmp_path / "deep" / ".monogpu.schema.json").exists()


def test_init_prints_to_stdout_and_writes_nothing(tmp_path: Path) -> None:
    assert kit("init", "--gpu", "8GiB", "-o", "-", at=tmp_path).good().out.startswith("# yaml-language-server")
    assert list(tmp_path.iterdir()) == []


def test_schema_takes_the_examples() -> None:
    jsonschema.Draft202012Validator.check_schema(kit("schema").good().json)


# ---- as a program


def shell(line: str, **environ: str) -> subprocess.CompletedProcess[str]:
    words = {"kit": f"{sys.executable} -m kit.cli", "trio": str(TRIO / "monogpu.yaml")}
    place = {**os.environ, "PYTHONPATH": str(ROOT), **environ}
    return subprocess.run(["bash", "-c", line.format(**words)], env=place, capture_output=True, text=True, check=False)


def test_a_reader_that_goes_away_is_no_error_to_talk_about() -> None:
    done = shell("set -o pipefail; {kit} schema | head -n 1")
    assert done.stdout == "{\n" and done.stderr == ""


def test_a_pipe_gets_plain_text_of_a_steady_width() -> None:
    done = shell("{kit} plan {trio}", TERM="xterm-256color", COLUMNS="")
    assert done.returncode == 0 and "\x1b" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_names_that_are_not_ascii_are_printed_whatever_the_locale(tmp_path: Path) -> None:
    write(tmp_path, "models:\n  - {name: 'naïve 模型', source: ./x}\n")
    done = shell(f"{{kit}} check {tmp_path}/monogpu.yaml", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert done.returncode == 2 and "Traceback" not in done.stderr and "bug" not in done.stderr
