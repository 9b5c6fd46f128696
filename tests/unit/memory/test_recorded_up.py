"""What the kit promised on a real card, and what the driver said: scripts/record-gpu on an H200, 16 and 24 GB of it."""

from __future__ import annotations

from statistics import median
from typing import Any

import pytest

from kit.planner.lockfile import from_text
from kit.units import MIB
from tests.support.readings import Reading, up_readings, up_steps

STEPS = up_steps()
READINGS = up_readings()
STACKS = {name: step for name, step in STEPS.items() if "up_seconds" in step}
BY_FORMULAS = pytest.mark.parametrize(
    ("step", "reading", "planned"), READINGS, ids=[reading.id for _, reading, _ in READINGS]
)


def errors(planned: float, reading: Reading) -> list[float]:
    assert reading.loaded_mib is not None
    return [planned / MIB / reading.rest_mib - 1, planned / MIB / reading.loaded_mib - 1]


@BY_FORMULAS
def test_by_formulas_the_bill_was_within_five_percent_and_never_two_below(
    step: str, reading: Reading, planned: int
) -> None:
    for error in errors(planned, reading):
        assert -0.02 <= error <= 0.05


def test_by_formulas_the_median_error_was_below_one_percent() -> None:
    assert len(READINGS) >= 10
    assert median(abs(error) for _, reading, planned in READINGS for error in errors(planned, reading)) < 0.01


@BY_FORMULAS
def test_today_s_bill_is_still_that_of_the_recording(step: str, reading: Reading, planned: int) -> None:
    assert reading.billed_mib == pytest.approx(planned / MIB, rel=0.005)


@pytest.mark.parametrize(("name", "step"), STACKS.items(), ids=STACKS)
def test_every_stack_answered_through_the_router_and_logged_the_planned_tokens(name: str, step: dict[str, Any]) -> None:
    assert step["exit_code"] == 0
    assert step["verified"] is True
    for worker in step["workers"]:
        assert f"{worker['service']} answers a token" in step["checks"]
        assert worker["log"]["kv_tokens"] == worker["planned_kv_tokens"]


def test_at_least_eight_manifests_were_recorded() -> None:
    assert len(STACKS) + len([step for step in STEPS.values() if step.get("exit_code") == 3]) >= 8


@pytest.mark.parametrize("name", ["trio-16gb-sequential", "trio-16gb-parallel"])
def test_calibrated_the_bill_was_within_one_percent_under_load(name: str) -> None:
    for worker in STEPS[name]["workers"]:
        assert worker["measured_lines"]
        assert abs(worker["planned_bytes"] / worker["loaded_bytes"] - 1) < 0.01


def test_the_recorded_lock_is_one_that_the_kit_reads() -> None:
    lock = from_text(STEPS["calibrate"]["lock"], "monogpu.lock.yaml")
    assert sorted(lock.workers) == ["chat", "small", "tiny"]
    assert all(worker.footprint > 0 for worker in lock.workers.values())


@pytest.mark.parametrize("name", ["trio-16gb-parallel-cold", "trio-16gb-sequential", "trio-16gb-parallel"])
def test_95_percent_of_what_was_physically_left_became_kv_cache(name: str) -> None:
    step = STEPS[name]
    kv = sum(worker["kv_bytes"] for worker in step["workers"])
    rest = sum(worker["loaded_bytes"] - worker["kv_bytes"] for worker in step["workers"])
    assert kv / (step["free_bytes"] - rest) >= 0.95


def test_the_same_three_sized_by_fractions_and_started_together_died() -> None:
    assert [worker["exit_code"] for worker in STEPS["fractions"]["workers"]] == [1, 1, 1]


def test_a_parallel_start_took_less_than_half_of_a_sequential_one() -> None:
    assert STEPS["trio-16gb-sequential"]["up_seconds"] / STEPS["trio-16gb-parallel"]["up_seconds"] > 2


def test_what_could_not_fit_was_refused_with_the_bill_and_advice() -> None:
    assert STEPS["refused"]["exit_code"] == 3
    assert "what would fit" in STEPS["refused"]["bill"]
