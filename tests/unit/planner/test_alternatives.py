"""What folding fine-tunes into adapters saves, and when a model is cheaper swapped: by the planner itself."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kit.errors import DoesNotFit
from kit.facts.facts import Facts
from kit.memory.lora import slot_bytes
from kit.memory.weights import rope_bytes, weights_bytes
from kit.planner.advice import plan_or_advise
from kit.planner.alternatives import families, fold, fold_all, said, swaps
from kit.planner.plan import solve
from kit.planner.workers import PlanInput
from kit.units import GIB
from tests.support.planning import CHAT, FACTS, SMALL, TINY, ask, model, trio

TUNED = ("org/base", "org/legal", "org/support")


def tuned(**words: object) -> PlanInput:
    """Three fine-tunes of one 1.5B base, and a model of another kind."""
    models = [model(source.partition("/")[2], source, context=2048, **words) for source in TUNED]
    asked = ask(*models, model("small", SMALL, context=2048), gpu="24GiB")
    facts: dict[str, Facts] = {source: replace(FACTS[CHAT], source=source) for source in TUNED}
    return replace(asked, facts={**FACTS, **facts})


def test_models_of_equal_shapes_are_a_family_and_others_are_none() -> None:
    (family,) = families(tuned())
    assert (family.base.name, [other.name for other in family.others]) == ("base", ["legal", "support"])
    assert families(ask(*trio(context=4096))) == ()


def test_the_saving_is_two_whole_workers_less_two_slots() -> None:
    (family,) = families(tuned())
    facts = FACTS[CHAT]
    least = 2 * (weights_bytes(facts) + rope_bytes(facts)) - 2 * slot_bytes(facts, 16, 2)
    assert least < family.saving < least + 3 * GIB
    unfolded, folded = solve(tuned()), solve(family.folded)
    assert [worker.service for worker in folded.workers] == ["base", "small"]
    rests = [sum(candidate.rest for candidate in one.candidates) for one in (unfolded, folded)]
    assert rests[0] - rests[1] == family.saving


def test_it_is_said_as_a_note_of_the_plan() -> None:
    notes = plan_or_advise(tuned()).notes
    (note,) = [note for note in notes if "fine-tunes of one base" in note]
    assert note == said(families(tuned())[0])
    assert note.startswith("'legal' and 'support' have the architecture and the sizes of 'base' (Qwen2ForCausalLM, ")


def test_adapters_that_are_there_go_along_and_their_base_stays() -> None:
    manifest = tuned().manifest
    models = tuple(
        m.model_copy(update={"adapters": tuple(model_adapters(m.name))}) if m.name == "legal" else m
        for m in manifest.models
    )
    asked = replace(tuned(), manifest=manifest.model_copy(update={"models": models}))
    (family,) = families(asked)
    assert family.base.name == "legal"
    made = fold_all(asked).manifest
    assert [one.name for one in made.models] == ["legal", "small"]
    assert [one.name for one in made.models[0].adapters] == ["code", "base", "support"]


def model_adapters(name: str) -> list[object]:
    from kit.manifest.model import Adapter

    return [Adapter(name="code", source=f"./adapters/{name}")]


def test_the_same_model_twice_is_no_family() -> None:
    assert families(ask(model("a", CHAT, context=2048), model("b", CHAT, context=4096), gpu="24GiB")) == ()


@pytest.mark.parametrize("word", [{"task": "embed"}, {"args": ("--seed", "1")}, {"image": "mine:1"}])
def test_workers_that_cannot_be_one_are_no_family(word: dict[str, object]) -> None:
    asked = tuned()
    models = tuple(m.model_copy(update=word) if m.name != "base" else m for m in asked.manifest.models[:2])
    assert families(replace(asked, manifest=asked.manifest.model_copy(update={"models": models}))) == ()


def test_folding_names_the_others_after_themselves() -> None:
    models = tuned().manifest.models
    made = fold(tuned(), models[1], models[:1]).manifest
    assert [(one.name, [(a.name, a.source) for a in one.adapters]) for one in made.models] == [
        ("legal", [("base", "org/base")]),
        ("support", []),
        ("small", []),
    ]


def test_where_nothing_fits_adapters_are_advised_if_they_fit() -> None:
    with pytest.raises(DoesNotFit) as caught:
        plan_or_advise(replace(tuned(), gpu=ask(model(), gpu="8GiB").gpu))
    assert (
        "'legal' and 'support' as LoRA adapters of 'base', if they are fine-tunes of one base" in caught.value.evidence
    )


def test_below_some_returns_an_hour_swapping_costs_the_card_less() -> None:
    found = {swap.name: swap for swap in swaps(ask(*trio(context=4096)))}
    assert list(found) == ["chat", "small", "tiny"]
    for swap in found.values():
        assert swap.returns * swap.seconds == pytest.approx(swap.part * 3600)
        assert swap.seconds >= 1
    assert found["chat"].seconds == pytest.approx(3.2e9 / 0.55e9, rel=0.05)


def test_swapping_is_spoken_of_only_where_something_was_given_up_for_a_model() -> None:
    easy = plan_or_advise(ask(*trio(context=4096)))
    assert not any(share.degraded for share in easy.shares)
    assert [note.split(":")[0] for note in easy.notes] == ["tool calls"]
    tight = plan_or_advise(ask(*trio(context=4096, requests=256), gpu="8500MiB"))
    assert any(share.degraded for share in tight.shares)
    (note,) = [note for note in tight.notes if "swapped in" in note]
    name = note.split("'")[1]
    rest = tuple(m for m in trio(context=4096, requests=256) if m["name"] != name)
    assert not any(share.degraded for share in plan_or_advise(ask(*rest, gpu="8500MiB")).shares)


def test_a_model_alone_has_nothing_to_be_swapped_for() -> None:
    alone = plan_or_advise(ask(model("chat", TINY, context=4096, requests=256), gpu="2000MiB"))
    assert any(share.degraded for share in alone.shares)
    assert not [note for note in alone.notes if "swapped" in note]
