from __future__ import annotations

from dataclasses import replace

from kit.planner.advice import plan_or_advise
from kit.planner.workers import PlanInput
from tests.support.planning import CHAT, FACTS, ask, model


def notes(asked: PlanInput) -> tuple[str, ...]:
    """What a plan says besides whose tool calls are read."""
    return tuple(note for note in plan_or_advise(asked).notes if not note.startswith("tool calls: "))


def test_what_is_served_otherwise_than_it_looks_is_said() -> None:
    asked = ask(model("rank", CHAT, task="rerank", context=2048))
    front, vectors = plan_or_advise(asked).notes
    assert front.startswith("smg does not route /rerank, /score and /classify")
    assert "ranks by the cosine of vectors" in vectors


def test_an_ordinary_plan_says_nothing() -> None:
    assert notes(ask(model("chat", CHAT, context=2048, replicas=2))) == ()


def test_whose_tool_calls_are_read_is_said() -> None:
    made = plan_or_advise(ask(model("chat", CHAT, context=2048), model("mute", CHAT, context=2048, tools="off")))
    assert made.notes == ("tool calls: on for chat (hermes); off for mute (tools: off)",)


def test_cache_aware_over_replicas_is_told_its_measurement() -> None:
    words = {"router": {"policy": "cache_aware"}}
    (note,) = notes(ask(model("chat", CHAT, context=2048, replicas=2), **words))
    assert "38.5 requests a second, round_robin 46.3" in note
    assert notes(ask(model("chat", CHAT, context=2048), **words)) == ()


def test_what_was_assumed_of_the_card_comes_first() -> None:
    asked = ask(model("chat", CHAT, context=2048), gpu="16GiB")
    assert plan_or_advise(asked).notes[: len(asked.gpu.assumed)] == asked.gpu.assumed


def test_the_facts_of_no_model_are_needed_twice() -> None:
    asked = replace(ask(model("chat", CHAT, context=2048)), facts={CHAT: FACTS[CHAT]})
    assert notes(asked) == ()
