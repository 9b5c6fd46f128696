"""compose/: every example passes `check`, plans as the design says, and prints what lies beside it, without network."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from kit.project.load import read_project
from kit.project.write import COMPOSE, printed
from kit.stack.render import Rendered
from tests.support.typed import EXAMPLES, ROOT, kit

Golden = Callable[[Path, str], None]
every_example = pytest.mark.parametrize("example", EXAMPLES, ids=[example.name for example in EXAMPLES])


@pytest.fixture
def bare(example: Path, tmp_path: Path) -> Path:
    """The example as somebody has it who has downloaded no model: what was written by hand, and what was recorded."""
    for name in ("monogpu.yaml", "gpu.json", "facts.json", "monogpu.lock.yaml"):
        if (example / name).exists():
            shutil.copy(example / name, tmp_path)
    return tmp_path


def rendered(folder: Path) -> Rendered:
    return printed(read_project(folder / "monogpu.yaml"), None, {})


def test_the_examples_of_the_first_day_are_there() -> None:
    assert {"cpu-demo", "trio-16gb", "one-8b-24gb"} <= {example.name for example in EXAMPLES}


@every_example
def test_it_prints_exactly_the_files_beside_it(example: Path, bare: Path, golden: Golden) -> None:
    made = rendered(bare)
    golden(example / COMPOSE, made.compose)
    for file in made.files:
        golden(example / file.path, file.text)


@every_example
def test_check_and_render_check_are_content(example: Path) -> None:
    assert "good" in kit("check", "monogpu.yaml", at=example).good().out
    assert "is what the manifest says" in kit("render", "--check", at=example).good().out


@every_example
def test_its_plan_has_the_shape_that_scripts_rely_on(example: Path, bare: Path) -> None:
    plan = kit("plan", "--json", at=bare).good().json
    assert {"fits", "gpu", "usable_bytes", "spare_bytes", "shares", "problems"} <= plan.keys()
    assert (plan["fits"], plan["problems"]) == (True, [])
    for share in plan["shares"]:
        words = "model total_bytes kv_bytes kv_tokens concurrency graphs gpu_memory_utilization lines"
        assert set(words.split()) <= share.keys()
        assert all({"what", "bytes", "why"} <= line.keys() for line in share["lines"])


@every_example
def test_every_byte_of_its_card_is_a_line(bare: Path) -> None:
    plan = kit("plan", "--json", at=bare).good().json
    for share in plan["shares"]:
        assert share["total_bytes"] == sum(line["bytes"] for line in share["lines"])
    assert plan["usable_bytes"] == plan["spare_bytes"] + sum(share["total_bytes"] for share in plan["shares"])
    assert plan["gpu"]["total_bytes"] == plan["usable_bytes"] + sum(line["bytes"] for line in plan["reserved"])


@every_example
def test_its_bill_is_printed_for_people(bare: Path) -> None:
    said = kit("plan", at=bare).good().out
    for share in kit("plan", "--json", at=bare).json["shares"]:
        assert share["service"] in said
    assert "weights" in said and "spare" in said


def test_the_trio_fits_with_graphs_on_a_card_that_a_desktop_uses() -> None:
    plan = kit("plan", ROOT / "compose" / "trio-16gb" / "monogpu.yaml", "--json").good().json
    assert [share["graphs"] for share in plan["shares"]] == ["full"] * 3
    assert "gnome-shell" in str(plan["reserved"])
    assert sum(float(share["gpu_memory_utilization"]) for share in plan["shares"]) < 1
