"""A lock that holds is used to the byte; one that does not is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kit.commands.calibrate import done_before
from kit.errors import ManifestError
from kit.memory.worker import MeasuredSettings, WorkerSettings, capture_sizes
from kit.planner.lockfile import (
    Lock,
    Locked,
    WorkerIdentity,
    card_of,
    from_text,
    measured,
    to_text,
)
from kit.planner.plan import plan
from kit.units import MIB
from tests.support.planning import RTX_5080, SMALL, ask, model
from tests.support.readings import up_steps

SHARE = plan(ask(model("small", SMALL, context=4096))).shares[0]
SETTINGS = MeasuredSettings(SHARE.requests, SHARE.context, SHARE.capture_sizes, "auto")
KV = sum(line.bytes for line in SHARE.lines if line.kind.startswith("kv"))
WORKER = Locked(
    image="vllm/vllm-openai:v0.26.0",
    digest=None,
    vllm="0.26.0",
    source=SMALL,
    revision=None,
    settings=SETTINGS,
    args=(),
    adapters=(),
    kv_driver_bytes=KV,
    context_bytes=256 * MIB,
    rest_bytes=KV + 2000 * MIB,
    loaded_bytes=KV + 2100 * MIB,
    kv_tokens=SHARE.kv_tokens,
    weights_gib=0.93,
    graphs_gib=None,
)
LOCK = Lock(card_of(RTX_5080), {"small": WORKER})
WANTED = {"small": WorkerIdentity(WORKER.image, SMALL, (), ())}


def test_a_locked_worker_is_priced_by_what_was_measured_under_load() -> None:
    asked = replace(ask(model("small", SMALL, context=4096)), locks=measured(LOCK, RTX_5080, WANTED))
    (share,) = plan(asked).shares
    rest = sum(line.bytes for line in share.lines if not line.kind.startswith("kv"))
    assert rest == 2100 * MIB
    assert "measured on NVIDIA GeForce RTX 5080, vLLM 0.26.0" in " ".join(line.why for line in share.lines)


def test_a_lock_of_another_setting_is_refused_at_the_model() -> None:
    asked = replace(ask(model("small", SMALL, context=4096, requests=8)), locks=measured(LOCK, RTX_5080, WANTED))
    with pytest.raises(ManifestError) as caught:
        plan(asked)
    assert caught.value.problems[0].path == ("models", 0)


@pytest.mark.parametrize(
    ("gpu", "words"),
    [
        (replace(RTX_5080, name="NVIDIA L4"), "was measured on NVIDIA GeForce RTX 5080"),
        (replace(RTX_5080, total_bytes=8 * 1024**3), "15.47 GiB"),
        (replace(RTX_5080, kind="host"), "on the CPU"),
    ],
)
def test_a_lock_of_another_card_is_refused(gpu: object, words: str) -> None:
    with pytest.raises(ManifestError) as caught:
        measured(LOCK, gpu, WANTED)  # type: ignore[arg-type]
    assert words in str(caught.value)


def test_a_lock_of_another_driver_is_refused() -> None:
    lock = replace(LOCK, card=replace(LOCK.card, driver="570.1"))
    with pytest.raises(ManifestError, match=r"570\.1"):
        measured(lock, replace(RTX_5080, driver="580.95"), WANTED)


@pytest.mark.parametrize("word", ["image", "source", "args", "adapters"])
def test_a_worker_measured_with_something_else_is_refused(word: str) -> None:
    other = ("--x",) if word in ("args", "adapters") else "other"
    with pytest.raises(ManifestError) as caught:
        measured(LOCK, RTX_5080, {"small": replace(WANTED["small"], **{word: other})})
    assert word in str(caught.value)


def test_a_worker_that_was_never_measured_is_left_to_the_formulas() -> None:
    assert measured(LOCK, RTX_5080, {"new": WANTED["small"]}) == {}


@given(st.integers(0, 2**50), st.none() | st.integers(0, 2**50), st.none() | st.floats(0, 100))
def test_a_lock_is_read_as_it_was_written(rest: int, loaded: int | None, weights: float | None) -> None:
    lock = Lock(LOCK.card, {"small": replace(WORKER, rest_bytes=rest, loaded_bytes=loaded, weights_gib=weights)})
    assert from_text(to_text(lock), "monogpu.lock.yaml") == lock


@pytest.mark.parametrize("text", ["", "card: 1\nworkers: {}\n", "card: {}\nworkers: {}\n", "[]\n", "workers: [1\n"])
def test_a_broken_lock_is_said_with_the_fix(text: str) -> None:
    with pytest.raises(ManifestError) as caught:
        from_text(text, "monogpu.lock.yaml")
    assert "monogpu.lock.yaml" in str(caught.value)


def old_file(**changes: object) -> str:
    """The recorded lock of an earlier calibrate: without a version, and with each worker's settings as a sentence."""
    data = yaml.safe_load(up_steps()["calibrate"]["lock"])
    data["workers"]["small"].update(changes)
    return yaml.safe_dump(data)


def test_a_lock_without_a_version_is_converted() -> None:
    lock = from_text(old_file(args=["--kv-cache-dtype", "fp8"]), "monogpu.lock.yaml")
    sizes = (1, 2, 4, 8, 16, 24, 32, 40, 48, 56, 64)
    assert lock.workers["chat"].settings == MeasuredSettings(32, 4096, sizes, "auto")
    assert lock.workers["small"].settings == MeasuredSettings(32, 4096, sizes, "fp8")
    assert "setting:" not in to_text(lock)
    assert yaml.safe_load(to_text(lock))["version"] == 1


@given(st.integers(1, 600), st.integers(1, 10_000), st.sampled_from(["full", "small", "off"]))
def test_every_setting_that_was_written_as_a_sentence_is_read(requests: int, batch: int, graphs: str) -> None:
    full = capture_sizes(WorkerSettings(4096, requests, max(requests, batch)))
    sizes = {"full": full, "small": tuple(n for n in (1, 2, 4, 8) if n <= full[-1]), "off": ()}[graphs]
    settings = MeasuredSettings(requests, 4096, sizes, "auto")
    assert from_text(old_file(setting=str(settings)), "monogpu.lock.yaml").workers["small"].settings == settings


@pytest.mark.parametrize("setting", ["32 requests", "32 requests of 4096 tokens, 12 graphs for batches of up to 64"])
def test_a_lock_without_a_version_that_cannot_be_converted_is_refused(setting: str) -> None:
    with pytest.raises(ManifestError) as caught:
        from_text(old_file(setting=setting), "monogpu.lock.yaml")
    assert "`monogpu-kit calibrate` measures again" in str(caught.value)
    assert "workers.small.settings" in str(caught.value)


def test_a_lock_of_a_newer_version_is_refused() -> None:
    with pytest.raises(ManifestError, match="its version is 2, and this monogpu-kit reads 1; `monogpu-kit calibrate`"):
        from_text(to_text(LOCK).replace("version: 1", "version: 2"), "monogpu.lock.yaml")


@pytest.mark.parametrize(
    "change", [{"requests": 16}, {"context": 2048}, {"capture_sizes": (1,)}, {"kv_dtype": "fp8"}], ids=str
)
def test_a_lock_holds_for_the_same_settings_alone(change: dict[str, Any]) -> None:
    worker = replace(WORKER, settings=replace(SETTINGS, **change))
    locks = measured(replace(LOCK, workers={"small": worker}), RTX_5080, WANTED)
    with pytest.raises(ManifestError, match="was measured with"):
        plan(replace(ask(model("small", SMALL, context=4096)), locks=locks))


def test_an_interrupted_calibration_keeps_what_is_still_run_like_that(tmp_path: Path) -> None:
    made = plan(ask(model("small", SMALL, context=4096)))
    assert done_before(tmp_path, made, WANTED) == {}
    (tmp_path / "monogpu.lock.yaml.part").write_text(to_text(LOCK))
    assert done_before(tmp_path, made, WANTED) == LOCK.workers
    assert done_before(tmp_path, made, {"small": replace(WANTED["small"], image="another")}) == {}
    assert done_before(tmp_path, plan(ask(model("small", SMALL, context=2048))), WANTED) == {}
