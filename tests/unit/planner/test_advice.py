"""What would fit, fits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from kit.errors import DoesNotFit
from kit.gpu import Gpu
from kit.planner.advice import advice, edited, plan_or_advise
from kit.planner.plan import NoRoom, plan, solve
from kit.units import GIB
from tests.support.planning import CHAT, LLAMA, SMALL, TINY, ask, cards, model, models


@given(models(), cards)
def test_advice_that_is_followed_fits(some: list[dict[str, Any]], card: Gpu) -> None:
    asked = ask(*some, gpu=card)
    solution = solve(asked)
    if solution.fits:
        return
    for one in advice(asked, solution):
        if one.edits:
            plan(edited(asked, one.edits))


def refused(*some: dict[str, Any], gpu: str) -> DoesNotFit:
    with pytest.raises(DoesNotFit) as caught:
        plan_or_advise(ask(*some, gpu=gpu))
    return caught.value


def test_the_bill_that_does_not_fit_has_the_mps_server_where_one_is_wanted() -> None:
    asked = ask(model("chat", LLAMA), gpu="6GiB")
    gpu = asked.manifest.gpu.model_copy(update={"mps": True})
    for wanted in (asked, replace(asked, manifest=asked.manifest.model_copy(update={"gpu": gpu}))):
        with pytest.raises(DoesNotFit) as caught:
            plan_or_advise(wanted)
        assert ("MPS server" in str(caught.value.evidence)) == (wanted is not asked)


def test_the_problem_points_at_the_greediest_context_and_says_what_is_missing() -> None:
    error = refused(model("chat", CHAT, context=32768), model("tiny", TINY, context=4096), gpu="5GiB")
    assert error.problems[0].path == ("models", 0, "context")
    assert "'chat' needs" in error.problems[0].what
    assert error.exit_code == 3


def test_the_evidence_is_the_bill_and_the_advice() -> None:
    error = refused(model("chat", CHAT, context=32768), model("tiny", TINY, context=4096), gpu="5.5GiB")
    assert "weights" in error.evidence
    assert "what would fit" in error.evidence
    assert "models[0].context: " in error.evidence


def test_the_longest_context_that_fits_is_advised_and_one_step_more_does_not() -> None:
    asked = ask(model("chat", CHAT, context=32768, graphs="off"), gpu="4.5GiB")
    solution = solve(asked)
    (best,) = [one for one in advice(asked, solution) if one.edits and one.edits[0][0][2] == "context"][:1]
    context = best.edits[0][1]
    plan(edited(asked, ((("models", 0, "context"), context),)))
    with pytest.raises(NoRoom):
        plan(edited(asked, ((("models", 0, "context"), context + 256),)))


def test_a_fixed_footprint_that_is_too_small_is_said_at_its_own_line() -> None:
    error = refused(model("chat", CHAT, memory=3 * 1024**3), gpu="16GiB")
    assert error.problems[0].path == ("models", 0, "memory")
    assert "memory: auto" in error.evidence or "memory: " in error.problems[0].needed


def test_a_model_that_no_edit_saves_names_the_card_it_needs() -> None:
    error = refused(model("big", LLAMA, context=8192), gpu="12GiB")
    assert "a card of" in error.evidence


def test_leaving_the_smallest_sufficient_model_out_is_offered() -> None:
    error = refused(model("a", CHAT, context=512), model("b", SMALL, context=512), gpu="4.8GiB")
    assert "without 'b'" in error.evidence


def test_footprints_that_the_manifest_fixes_are_not_called_the_least_that_serves() -> None:
    """What the models need is another matter: both would fit with memory: auto."""
    error = refused(model("a", SMALL, memory=6 * GIB), model("b", TINY, memory=5 * GIB), gpu="8.5GiB")
    (problem,) = error.problems
    assert problem.path == ("models", 0, "memory")
    assert "`memory` of 'a' and 'b' is 2.62 GiB more than the card has, added up" in problem.what
    assert "they add to 11.00 GiB, usable are 8.38 GiB" in problem.needed
    assert "the least that serves" not in str(error)
    assert "memory: in the manifest" in error.evidence
    assert "models[0].memory: auto ('a') and models[1].memory: auto ('b')" in error.evidence


def test_one_fixed_footprint_that_is_larger_than_the_card_is_said_to_be() -> None:
    (problem,) = refused(model("a", SMALL, memory=9 * GIB), gpu="8.5GiB").problems
    assert "`memory` of 'a' is 640.0 MiB more than the card has" in problem.what
    assert "it comes to 9.00 GiB" in problem.needed


def test_a_fixed_footprint_beside_others_is_named_in_what_is_needed() -> None:
    (problem,) = refused(model("a", SMALL, memory=7 * GIB), model("b", CHAT, context=4096), gpu="8.5GiB").problems
    assert "the least that serves one request at a time is" in problem.needed
    assert "(7.00 GiB of it by `memory` of 'a')" in problem.needed
