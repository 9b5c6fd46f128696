"""Workers of newer families on a card: what was planned before they ran against what the driver and the log said."""

from __future__ import annotations

from statistics import median
from typing import Any

import pytest

from kit.facts.facts_json import read_recorded
from kit.memory.kv_cache import CacheRules, kv_cost
from kit.units import MIB
from tests.support.paths import RECORDED
from tests.support.readings import families

WORKERS = [one for one in families() if one["measured"]["as_planned"]]
FACTS = read_recorded(RECORDED / "h200-families-facts.json")
IDS = [one["name"] for one in WORKERS]


def error(one: dict[str, Any]) -> float:
    seen = one["measured"]
    truth = max(seen["rest_mib"], seen["loaded_mib"])
    return float(one["planned_bytes"] / MIB / truth - 1)


@pytest.mark.parametrize("one", WORKERS, ids=IDS)
def test_the_bill_is_at_most_five_percent_off_and_never_two_below(one: dict[str, Any]) -> None:
    assert -0.02 <= error(one) <= 0.05


def test_the_median_is_within_two_percent() -> None:
    assert len(WORKERS) >= 9 and median(abs(error(one)) for one in WORKERS) <= 0.02


def test_two_were_held_out() -> None:
    assert [one["name"] for one in WORKERS if one["split"] == "held out"] == ["qwen3-8b-fp8", "granite-4.0-h-tiny"]


@pytest.mark.parametrize("one", WORKERS, ids=IDS)
def test_the_kv_cache_has_the_tokens_that_the_log_said(one: dict[str, Any]) -> None:
    assert one["kv_tokens"] == one["measured"]["kv_tokens"]


def of_attention_alone(one: dict[str, Any]) -> bool:
    kinds = {kind.kind for kind in FACTS[one["name"]].attention}
    return kinds <= {"full", "sliding"} and "float32" not in one["argv"] and one["name"] != "nvfp4"


@pytest.mark.parametrize("one", [one for one in WORKERS if of_attention_alone(one)], ids=lambda one: str(one["name"]))
def test_today_s_plan_has_the_same_tokens(one: dict[str, Any]) -> None:
    cost = kv_cost(FACTS[one["name"]], one["context"], CacheRules(in_flight=4096))
    size = int(one["argv"][one["argv"].index("--kv-cache-memory-bytes") + 1])
    assert cost.tokens(size) == one["kv_tokens"]


@pytest.mark.parametrize("one", WORKERS, ids=IDS)
def test_prompt_logprobs_add_what_two_runners_keep(one: dict[str, Any]) -> None:
    """2 bytes for each batched token and word of the vocabulary on the V2 runner, 10 on V1, 4 for float32."""
    added = (one["measured"]["prompt_logprobs_mib"] - one["measured"]["loaded_mib"]) * MIB
    assert any(added == pytest.approx(2048 * FACTS[one["name"]].vocab * each, rel=0.01) for each in (2, 4, 10))
