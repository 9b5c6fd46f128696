"""Every row of the table is a plan: its cards are those on which the planner finds room."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.planner.cost import (
    HOURS,
    Cost,
    ServingOption,
    cost,
    packed,
    unfolded,
)
from kit.planner.plan import solve
from kit.planner.workers import PlanInput
from tests.support.planning import CHAT, LLAMA, SMALL, ask, model, models, trio
from tests.support.typed import ROOT, kit
from tests.unit.planner.test_alternatives import tuned

LORA = ROOT / "compose" / "lora-24gb"


def rows(found: Cost) -> dict[str, ServingOption]:
    return {setup.name: setup for setup in found.setups}


def test_three_models_on_one_card_cost_a_third_of_three_cards() -> None:
    found = rows(cost(ask(*trio(context=4096)), 1.5))
    assert list(found) == ["a card each", "cards shared"]
    assert (found["a card each"].cards, found["cards shared"].cards) == (3, 1)
    assert (found["a card each"].per_hour(1.5), found["cards shared"].per_hour(1.5)) == (4.5, 1.5)
    assert found["cards shared"].bytes == found["a card each"].bytes


def test_replicas_have_a_card_each_too() -> None:
    found = rows(cost(ask(model("chat", SMALL, context=4096, replicas=3)), 1))
    assert (found["a card each"].cards, found["cards shared"].cards) == (3, 1)


def test_fine_tunes_of_one_base_have_a_row_with_adapters() -> None:
    row = rows(cost(tuned(), 1))["one base, adapters"]
    assert row.cards == 1
    assert row.note == "if they are fine-tunes of one base, as LoRA adapters of rank 16"
    assert row.bytes < rows(cost(tuned(), 1))["cards shared"].bytes


def test_adapters_are_whole_models_where_they_are_not_adapters() -> None:
    adapters = [{"name": name, "source": f"./{name}"} for name in ("code", "law")]
    asked = ask(model("chat", LLAMA, context=4096, adapters=adapters), gpu="24GiB")
    assert [m.name for m in unfolded(asked).manifest.models] == ["chat", "code", "law"]
    found = cost(asked, 2)
    assert found.names == ("chat", "code", "law")
    assert {name: setup.cards for name, setup in rows(found).items()} == {
        "a card each": 3, "cards shared": 3, "one base, adapters": 1,
    }  # fmt: skip
    assert rows(found)["one base, adapters"].note == ""


def test_a_model_that_no_card_holds_has_no_price() -> None:
    found = rows(cost(ask(model("large", LLAMA, context=4096), model("chat", CHAT, context=4096)), 1.5))
    assert (found["a card each"].cards, found["a card each"].per_hour(1.5)) == (None, None)
    assert found["a card each"].note == "large: too large for the card"
    assert (found["cards shared"].cards, found["cards shared"].part) == (None, None)


@settings(max_examples=20)
@given(models(most=4), st.integers(8_000, 40_000))
def test_what_is_packed_together_fits_together(some: list[dict[str, Any]], mib: int) -> None:
    asked = ask(*some, gpu=f"{mib}MiB")
    cards = packed(asked)
    by_name = {one.name: one for one in asked.manifest.models}
    for card in cards:
        together = asked.manifest.model_copy(update={"models": tuple(by_name[name] for name in card)})
        assert solve(replace(asked, manifest=together)).fits
    names = sorted(name for card in cards for name in card)
    assert names == sorted(by_name) or (not cards and any(not _alone(asked, name) for name in by_name))


def _alone(asked: PlanInput, name: str) -> bool:
    models = tuple(one for one in asked.manifest.models if one.name == name)
    return solve(replace(asked, manifest=asked.manifest.model_copy(update={"models": models}))).fits


# ---- the verb


def test_the_articles_table_for_the_articles_stack() -> None:
    said = kit("cost", LORA / "monogpu.yaml", "--price-per-hour", "1.50", "--json").good().json
    assert said["names"] == ["mistral", "support", "code", "summary"]
    table = {setup["name"]: (setup["cards"], setup["per_hour"], setup["per_month"]) for setup in said["setups"]}
    assert table == {
        "a card each": (4, 6.0, 6 * HOURS),
        "cards shared": (4, 6.0, 6 * HOURS),
        "one base, adapters": (1, 1.5, 1.5 * HOURS),
    }
    assert said["swaps"] == []


def test_people_see_the_same_table() -> None:
    said = kit("cost", LORA / "monogpu.yaml", "--price-per-hour", "1.50").good().out
    assert "mistral, support, code, summary on NVIDIA A10, 1.50 a card and hour" in said
    rows = [line.split() for line in said.splitlines() if "adapters " in line or "card each" in line]
    assert rows == [
        ["a", "card", "each", "4", *rows[0][4:-2], "6.00", "4,380"],
        ["one", "base,", "adapters", "1", *rows[1][4:-2], "1.50", "1,095"],
    ]


def test_swapping_has_its_own_table() -> None:
    trio16 = ROOT / "compose" / "trio-16gb" / "monogpu.yaml"
    said = kit("cost", trio16, "--price-per-hour", "1").good().out
    assert "swapped is cheaper below" in said
    swaps = kit("cost", trio16, "--price-per-hour", "1", "--json").good().json["swaps"]
    assert [swap["name"] for swap in swaps] == ["chat", "small", "tiny"]
    assert all(0 < swap["part_of_card"] < 1 and swap["cheaper_below_returns_per_hour"] > 0 for swap in swaps)


@pytest.mark.parametrize("words", [(), ("--price-per-hour", "-1"), ("--price-per-hour", "cheap")])
def test_a_price_is_needed(words: tuple[str, ...]) -> None:
    said = kit("cost", LORA / "monogpu.yaml", *words)
    assert said.code == 2
    assert "--price-per-hour" in said.err


def test_a_problem_is_said_as_everywhere(tmp_path: Any) -> None:
    (tmp_path / "monogpu.yaml").write_text("models:\n  - name: chat\n    source: ./none\n")
    said = kit("cost", "--price-per-hour", "1", "--gpu", "16GiB", "--json", at=tmp_path)
    assert said.code == 6
    assert json.loads(said.out)["problems"][0]["line"] == 3
