"""The bill against what the driver said of real workers."""

from __future__ import annotations

from dataclasses import replace
from statistics import median

import pytest

from kit.memory.candidates import WorkerRequest, price
from kit.memory.vllm_versions import traits_of
from kit.memory.weights import lora_bytes, rope_bytes, weights_bytes
from kit.memory.worker import (
    WorkerSettings,
    capture_sizes,
    rest_lines,
)
from kit.units import GIB
from tests.support.planning import FACTS, RTX_5080, ask
from tests.support.planning import model as model_
from tests.support.readings import HOPPER, Reading, readings

READINGS = readings()
ALL = pytest.mark.parametrize("reading", READINGS, ids=lambda reading: reading.id)


def errors(reading: Reading) -> list[float]:
    """Relative errors of the bill against the process at rest and under load."""
    truths = [reading.rest_mib] + ([reading.loaded_mib] if reading.loaded_mib else [])
    return [reading.billed_mib / truth - 1 for truth in truths]


@ALL
def test_the_bill_is_within_five_percent_and_never_two_below(reading: Reading) -> None:
    for error in errors(reading):
        assert -0.02 <= error <= 0.05


def test_the_median_error_is_below_one_percent() -> None:
    assert median(abs(error) for reading in READINGS for error in errors(reading)) < 0.01


def test_models_that_no_constant_was_fitted_on_are_billed_as_well() -> None:
    held_out = [reading for reading in READINGS if reading.held_out]
    assert len(held_out) >= 6
    assert max(abs(error) for reading in held_out for error in errors(reading)) < 0.02


@ALL
def test_kv_tokens_are_those_of_the_log(reading: Reading) -> None:
    assert reading.kv.tokens(reading.kv_bytes) == reading.kv_tokens


@ALL
def test_weights_are_within_one_percent_of_the_log(reading: Reading) -> None:
    ours = weights_bytes(reading.facts) + rope_bytes(reading.facts)
    ours += lora_bytes(reading.facts, reading.setting.lora_slots, reading.setting.lora_rank)
    tolerance = 0.01 if reading.setting.kv_dtype == "auto" else 0.04  # fp8 scales are logged with the weights
    assert ours / GIB == pytest.approx(reading.logged_weights_gib, rel=tolerance)


@pytest.mark.parametrize(("requests", "count"), [(256, 51), (32, 11), (8, 5), (1, 2)])
def test_capture_sizes_are_those_of_vllm(requests: int, count: int) -> None:
    sizes = capture_sizes(WorkerSettings(4096, requests, 2048))
    assert len(sizes) == count
    assert sizes[:2] == (1, 2)
    assert sizes[-1] == min(2 * requests, 512)


def test_every_line_has_a_reason_and_bytes() -> None:
    for reading in READINGS:
        for line in rest_lines(reading.facts, reading.setting, HOPPER):
            assert line.bytes > 0
            assert line.why


def test_more_requests_and_longer_batches_never_cost_less() -> None:
    reading = READINGS[0]
    few = sum(line.bytes for line in rest_lines(reading.facts, replace(reading.setting, requests=8), HOPPER))
    many = sum(line.bytes for line in rest_lines(reading.facts, replace(reading.setting, requests=64), HOPPER))
    long = sum(line.bytes for line in rest_lines(reading.facts, replace(reading.setting, batched_tokens=8192), HOPPER))
    assert few < many
    assert few < long


def test_an_older_engine_keeps_no_penalty_counters() -> None:
    reading = READINGS[0]
    old = rest_lines(reading.facts, reading.setting, replace(HOPPER, version=traits_of((0, 22))))
    assert "sampler" not in [line.kind for line in old]


def test_a_lora_rank_is_rounded_up_to_one_that_vllm_takes() -> None:
    (model,) = ask(model_("chat", adapters=[{"name": "code", "source": "./code"}])).manifest.models
    priced = price(WorkerRequest(model, FACTS[model.source], RTX_5080, lora_rank=20))
    assert {candidate.setting.lora_rank for candidate in priced} == {32}
