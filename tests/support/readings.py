"""Recorded workers, and what the bill says of them."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from kit.facts.facts import Facts
from kit.facts.facts_json import read_recorded
from kit.memory.kv_cache import KvCost, kv_cost
from kit.memory.vllm_versions import traits_of
from kit.memory.worker import (
    CardTraits,
    WorkerSettings,
    capture_sizes,
    rest_lines,
)
from kit.units import MIB
from tests.support.paths import RECORDED

HOPPER = CardTraits("9.0", traits_of((0, 26)))


@dataclass(frozen=True)
class Reading:
    """One worker as it was run, and what the driver said of its process, in MiB."""

    id: str
    held_out: bool
    facts: Facts
    setting: WorkerSettings
    kv_bytes: int
    logged_weights_gib: float
    kv_tokens: int
    rest_mib: int
    loaded_mib: int | None

    @property
    def kv(self) -> KvCost:
        return kv_cost(self.facts, self.setting.context, self.setting.cache_rules)

    @property
    def billed_mib(self) -> float:
        rest = sum(line.bytes for line in rest_lines(self.facts, self.setting, HOPPER))
        return (rest + self.kv.driver_bytes(self.kv_bytes)) / MIB


def readings() -> list[Reading]:
    """All workers recorded on the H200."""
    facts = read_recorded(RECORDED / "h200-facts.json")
    data = json.loads((RECORDED / "h200-footprints.json").read_text())
    return [_reading(entry, facts) for entry in data["readings"]]


def _reading(entry: dict[str, Any], facts: dict[str, Facts]) -> Reading:
    setting = WorkerSettings(
        context=entry["context"],
        requests=entry["requests"],
        batched_tokens=entry["batched_tokens"],
        kv_dtype=entry.get("kv_dtype", "auto"),
        pooling=entry.get("pooling", False),
        lora_slots=entry.get("lora_slots", 0),
        lora_rank=entry.get("lora_rank", 0),
    )
    sizes = () if entry["eager"] else tuple(entry.get("sizes") or capture_sizes(setting))
    return Reading(
        id=entry["id"],
        held_out=entry["split"] != "fit",
        facts=facts[entry["model"]],
        setting=replace(setting, sizes=sizes),
        kv_bytes=entry["kv_bytes"],
        logged_weights_gib=entry["logged_weights_gib"],
        kv_tokens=entry["kv_tokens"],
        rest_mib=entry["rest_mib"],
        loaded_mib=entry["loaded_mib"],
    )


def families() -> list[dict[str, Any]]:
    """Workers of newer families on the H200: planned first, then measured."""
    found: list[dict[str, Any]] = json.loads((RECORDED / "h200-families.json").read_text())["workers"]
    return found


def up_steps() -> dict[str, Any]:
    """What scripts/record-gpu saw: the kit's own render, up and calibrate on a card that ballast made small."""
    steps: dict[str, Any] = json.loads((RECORDED / "h200-up.json").read_text())["steps"]
    return steps


def up_readings() -> list[tuple[str, Reading, int]]:
    """(step, worker, planned bytes) of every worker that `up` started by formulas. None of them was fitted on."""
    facts = read_recorded(RECORDED / "h200-facts.json")
    return [
        (step, _up_reading(step, worker, facts), worker["planned_bytes"])
        for step, record in up_steps().items()
        for worker in record.get("workers", [])
        if "planned_bytes" in worker and not worker["measured_lines"]
    ]


def _up_reading(step: str, worker: dict[str, Any], facts: dict[str, Facts]) -> Reading:
    setting = WorkerSettings(
        context=worker["context"],
        requests=worker["requests"],
        batched_tokens=2048,
        sizes=tuple(worker["capture_sizes"]),
        kv_dtype=worker.get("kv_dtype", "auto"),
        lora_slots=worker.get("lora_slots", 0),
        lora_rank=worker.get("lora_rank", 0),
    )
    return Reading(
        id=f"{step}-{worker['service']}",
        held_out=True,
        facts=facts[worker["model"]],
        setting=setting,
        kv_bytes=worker["kv_bytes"],
        logged_weights_gib=worker["log"]["weights_gib"],
        kv_tokens=worker["log"]["kv_tokens"],
        rest_mib=worker["rest_bytes"] // MIB,
        loaded_mib=worker["loaded_bytes"] // MIB,
    )
