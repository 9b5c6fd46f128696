"""What unit tests take for Docker Compose's word is what it says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kit.compose import config
from kit.compose.compose_cli import source
from tests.support.composefiles import RECORDS, ask, printed
from tests.support.paths import ROOT

pytestmark = pytest.mark.docker

EXAMPLES = sorted(ROOT.glob("compose/*/docker-compose.yaml"))
RECORDED = sorted(RECORDS.glob("*.json"))


def test_every_recorded_answer_is_what_compose_says_today() -> None:
    assert len(RECORDED) > 50
    for path in RECORDED:
        recorded = json.loads(path.read_text(encoding="utf-8"))
        answer = ask(recorded)
        assert answer.code == 0, f"{path.name}: {answer.err}"
        assert json.loads(answer.out) == recorded["config"], f"{path.name} is no longer so; pytest --update"


@pytest.mark.parametrize("example", EXAMPLES, ids=[path.parent.name for path in EXAMPLES])
def test_what_the_kit_prints_is_read_alike_with_and_without_compose(example: Path) -> None:
    variables = dict.fromkeys(("HF_TOKEN", "MONOGPU_API_KEY"), "a $secret")
    text = example.read_text(encoding="utf-8")
    asked = {"text": text, "folder": str(example.parent), "variables": variables}
    by_compose = config.project(config.parse(ask(asked).out), example)
    assert by_compose == printed(text, example, variables)
    assert source(example.parent, {}).files == (example,)
