"""A lock that holds is used to the byte; one that does not is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.errors import ManifestError
from kit.memory.candidates import said
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

SHARE = plan(ask(model("small", SMALL, context=4096))).shares[0]
SETTING = said(SHARE.requests, SHARE.context, SHARE.capture_sizes)
KV = sum(line.bytes for line in SHARE.lines if line.what.startswith("kv"))
WORKER = Locked(
    image="vllm/vllm-openai:v0.26.0",
    digest=None,
    vllm="0.26.0",
    source=SMALL,
    revision=None,
    setting=SETTING,
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
    rest = sum(line.bytes for line in share.lines if not line.what.startswith("kv"))
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
