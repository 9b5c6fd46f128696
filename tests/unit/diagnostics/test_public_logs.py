"""The bill's exact terms against start-up logs that others published."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import yaml

from kit.facts.facts import Facts, from_config
from kit.memory.kv_cache import CacheRules, kv_cost
from kit.memory.weights import rope_bytes, weights_bytes
from kit.units import GIB
from tests.support.paths import RECORDED
from tests.unit.facts.test_families import config_of

LOGS: dict[str, dict[str, Any]] = yaml.safe_load((RECORDED / "start_logs.yaml").read_text(encoding="utf-8"))
PRINTED = 0.005  # GiB: two decimals


def facts_of(log: dict[str, Any]) -> Facts:
    return from_config(log["model"], None, config_of(log["model"]))


def is_plain(log: dict[str, Any]) -> bool:
    """One kind of attention. With windows, these versions printed blocks / groups x 16, today's count requests."""
    return len(facts_of(log).attention) == 1


def is_rounded(log: dict[str, Any]) -> bool:
    """From 0.19 on large weights take whole 2 MiB segments, which no earlier version does."""
    numbers = [int(part) for part in log["vllm"].split(".")[:2] if part.isdigit()]
    return len(numbers) == 2 and numbers >= [0, 19]


def logs(*words: str, when: Callable[[dict[str, Any]], bool]) -> Any:
    chosen = {name: log for name, log in LOGS.items() if all(log.get(word) for word in words) and when(log)}
    assert len(chosen) >= 12
    return pytest.mark.parametrize("log", chosen.values(), ids=chosen)


@logs("kv_gib", "kv_tokens", "context", when=is_plain)
def test_kv_tokens_are_those_of_the_log(log: dict[str, Any]) -> None:
    rules = CacheRules(log.get("kv_dtype", "auto"), in_flight=log.get("batched_tokens", 2048))
    cost = kv_cost(facts_of(log), log["context"], rules)
    least = cost.tokens(int((log["kv_gib"] - PRINTED) * GIB))
    most = cost.tokens(int((log["kv_gib"] + PRINTED) * GIB))
    assert least <= log["kv_tokens"] <= most


@logs("weights_gib", when=is_rounded)
def test_weights_are_within_one_percent_of_the_log(log: dict[str, Any]) -> None:
    facts = facts_of(log)
    ours = (weights_bytes(facts) + rope_bytes(facts)) / GIB
    assert ours == pytest.approx(log["weights_gib"], rel=0.01, abs=PRINTED)
