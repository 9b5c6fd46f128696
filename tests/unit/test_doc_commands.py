"""Every command that README.md and docs/ show is run: here, by scripts/docs, or by a test that a table names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from scripts.doc_parts.console import example, run
from tests.support.docblocks import Block, blocks, pages, verb
from tests.support.paths import ROOT
from tests.support.typed import kit

# What needs Docker, a card, the network or an empty machine: the test that runs the same verb, and the words that do.
ELSEWHERE = {
    "monogpu-kit up": ("tests/docker/test_commands.py::test_a_change_of_one_model_replaces_that_one_alone", "up("),
    "monogpu-kit up --dry-run": ("tests/docker/test_commands.py", '"up", "--gpu", "gpu.json", "--dry-run"'),
    "monogpu-kit verify": ("tests/real/test_chaos_heart.py", 'kit("verify")'),
    "monogpu-kit status": ("tests/real/test_chaos_heart.py", 'kit("status")'),
    "monogpu-kit logs": ("tests/real/test_commands.py", 'kit("logs"'),
    "monogpu-kit down": ("tests/docker/test_takeover.py", 'kit("down")'),
    "monogpu-kit bench": ("tests/real/test_bench.py", 'kit("bench", "all"'),
    "monogpu-kit doctor": ("tests/unit/test_cli.py", '"doctor"'),
    "monogpu-kit gpu": ("tests/unit/test_cli.py", '"gpu"'),
    "docker compose up": ("tests/real/test_commands.py", '"up", "-d", "--wait"'),
    "curl": ("tests/real/test_commands.py::test_a_question_gets_a_sentence", "chat/completions"),
    "kubectl apply": (
        "tests/unit/kubernetes/test_cluster_check.py::test_the_whole_walk_passes_and_leaves_nothing", "walk(",
    ),
    "kubectl": ("tests/unit/kubernetes/test_cluster_check.py", "every name answers"),
    "scripts/cluster-check": ("tests/unit/kubernetes/test_cluster_check.py", "main("),
    "pip install": ("tests/unit/test_wheel.py", '"install"'),
    "scripts/build-images": ("scripts/test", "scripts/build-images base smg haproxy vllm-router"),
}  # fmt: skip
# Scripts that a test cannot run, for they prepare the machine or run the tests themselves: what runs them instead.
SCRIPTS = {"scripts/demo": "tests/real/test_commands.py", "scripts/test": ".ci/run", ".ci/run": "scripts/ci-fresh"}
FOUND = blocks(pages())


def elsewhere(command: str) -> str | None:
    """The key of the most special entry that covers a command."""
    words = " ".join(command.split())
    keys = [
        key for key in (*ELSEWHERE, *SCRIPTS) if words == key or words.startswith(f"{key} ") or verb(command) == key
    ]
    return max(keys, key=len, default=None)


def ran_here(block: Block) -> tuple[str, ...]:
    return () if block.generated else tuple(one for one in block.commands if elsewhere(one) is None)


def test_there_is_something_to_run() -> None:
    assert len(FOUND) > 20 and sum(block.generated for block in FOUND) > 6
    assert sum(len(ran_here(block)) for block in FOUND) > 8


def test_a_command_stands_in_a_block_that_says_so() -> None:
    """In a block of another language no test would see it."""
    hidden = [
        (block.page, line)
        for page, text in pages().items()
        for block in blocks({page: re.sub(r"^```(?!bash|console)\w+$", "```bash", text, flags=re.MULTILINE)})
        for line in block.commands
        if block not in FOUND and re.match(r"(\$ )?(monogpu-kit|docker|scripts/|curl|pip|uv|pipx) ?", line)
    ]
    assert not hidden


def test_what_is_printed_below_a_command_is_generated_or_needs_a_machine() -> None:
    recorded = [block for block in FOUND if block.language == "console" and not block.generated]
    assert {elsewhere(one) for block in recorded for one in block.commands} <= {
        "monogpu-kit status",
        "monogpu-kit doctor",
    }


@pytest.mark.parametrize("block", [one for one in FOUND if ran_here(one)], ids=lambda block: block.id)
def test_what_needs_no_docker_works(block: Block) -> None:
    """In the order of the block, one after another, in one folder."""
    with example(block.folder) as place:
        for command in ran_here(block):
            done = run(command, place)
            assert done.returncode == 0, f"{command}\n{done.stdout}"


def test_what_needs_more_is_run_by_the_test_that_is_named() -> None:
    shown = {key for block in FOUND if not block.generated for one in block.commands if (key := elsewhere(one))}
    assert shown == {*ELSEWHERE, *SCRIPTS}, "an entry that no page shows"
    for key, (where, words) in ELSEWHERE.items():
        file, _, name = where.partition("::")
        text = (ROOT / file).read_text(encoding="utf-8")
        body = text.partition(f"def {name}(")[2].partition("\n\n\n")[0] if name else text
        assert words in body, (key, where)


def test_the_scripts_run_what_they_are_said_to_run() -> None:
    assert "scripts/test" in (ROOT / ".ci/run").read_text() and ".ci/run" in (ROOT / "scripts/ci-fresh").read_text()
    demo = (ROOT / "scripts/demo").read_text()
    assert [v for v in ("check", "plan", "render", "up", "verify") if f"show {v}" not in demo] == []
    assert "cpu-demo" in demo and "cpu-demo" in (ROOT / "tests/real/conftest.py").read_text()


@pytest.mark.parametrize("page", pages())
def test_yaml_is_a_manifest_or_fits_the_printed_file(page: str, tmp_path: Path) -> None:
    printed = yaml.safe_load((ROOT / "compose/trio-16gb/docker-compose.yaml").read_text(encoding="utf-8"))
    for text in re.findall(r"^```yaml\n(.*?)^```$", pages()[page], re.MULTILINE | re.DOTALL):
        data = yaml.safe_load(text)
        if "models" in data:
            (tmp_path / "monogpu.yaml").write_text(text, encoding="utf-8")
            assert kit("check", at=tmp_path).good()
        else:
            joined = [network for service in data["services"].values() for network in service["networks"]]
            assert set(joined) <= set(printed["networks"])
            assert "router:30000" not in text or "edge" in printed["services"]["router"]["networks"]


def test_a_command_that_fails_is_seen() -> None:
    with example("empty") as place:
        assert run("monogpu-kit check", place).returncode == 2
        assert run("monogpu-kit check | cat", place).returncode == 2
        assert Path(place).name == "empty"


@pytest.mark.parametrize("page", pages())
def test_pages_are_short(page: str) -> None:
    limit = 8 * 1024 if page == "README.md" else 12 * 1024
    assert (ROOT / page).stat().st_size <= limit
