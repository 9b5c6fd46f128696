"""Workers of newer families on a card: what was planned before they ran against what the driver and the log said."""

from __future__ import annotations

from dataclasses import replace
from statistics import median
from typing import Any

import pytest

from kit.facts.facts_json import read_recorded
from kit.memory.kv_cache import CacheRules, kv_cost
from kit.memory.weights import per_layer_width, shared_layers_bytes
from kit.memory.worker import WorkerSettings, capture_sizes, rest_lines
from kit.units import MIB
from tests.support.paths import RECORDED
from tests.support.readings import HOPPER, families

WORKERS = families()
PER_ENTRY = (2, 4, 10)
FACTS = read_recorded(RECORDED / "h200-families-facts.json")
IDS = [one["name"] for one in WORKERS]


def error(one: dict[str, Any]) -> float:
    """Of the plan made before; of today's where a line was found missing."""
    seen = one["measured"]
    truth = max(seen["rest_mib"], seen["loaded_mib"])
    return float(one.get("today_bytes", one["planned_bytes"]) / MIB / truth - 1)


@pytest.mark.parametrize("one", WORKERS, ids=IDS)
def test_the_bill_is_at_most_five_percent_off_and_never_two_below(one: dict[str, Any]) -> None:
    assert -0.02 <= error(one) <= 0.05


def test_the_median_is_within_two_percent() -> None:
    assert len(WORKERS) == 10 and median(abs(error(one)) for one in WORKERS) <= 0.02


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


def test_gemma_4_s_inputs_of_all_layers_are_in_the_bill() -> None:
    (gemma,) = [one for one in WORKERS if "today_bytes" in one]
    facts = FACTS[gemma["name"]]
    setting = WorkerSettings(context=gemma["context"], requests=gemma["requests"], batched_tokens=2048)
    lines = rest_lines(facts, replace(setting, sizes=capture_sizes(setting)), HOPPER)
    size = int(gemma["argv"][gemma["argv"].index("--kv-cache-memory-bytes") + 1])
    cache = kv_cost(facts, gemma["context"], CacheRules(in_flight=4096)).driver_bytes(size)
    assert sum(line.bytes for line in lines) + cache == gemma["today_bytes"]
    assert per_layer_width(facts) == 42 * 256 and shared_layers_bytes(facts) == pytest.approx(105 * MIB, rel=0.01)
    assert (per_layer_width(FACTS["nvfp4"]), shared_layers_bytes(FACTS["nvfp4"])) == (0, 0)


@pytest.mark.parametrize("one", WORKERS, ids=IDS)
def test_prompt_logprobs_add_what_two_runners_keep(one: dict[str, Any]) -> None:
    """2 bytes for each batched token and word of the vocabulary on the V2 runner, 10 on V1, 4 for float32."""
    added = (one["measured"]["prompt_logprobs_mib"] - one["measured"]["loaded_mib"]) * MIB
    assert any(added == pytest.approx(2048 * FACTS[one["name"]].vocab * each, rel=0.01) for each in PER_ENTRY)
