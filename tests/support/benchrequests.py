"""Requests to plan experiments from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hypothesis import reject
from hypothesis import strategies as st

from kit.bench.design import (
    EFFORTS,
    BenchRequest,
    Protocol,
)
from kit.bench.experiments import EXPERIMENTS
from kit.engines import ENGINES
from kit.gpu import Gpu, host
from kit.manifest import rules
from kit.memory.bill import Plan
from kit.planner.plan import NoRoom, plan
from kit.planner.workers import PlanInput
from kit.project.load import planned, read_project
from kit.units import GIB
from tests.support import planning
from tests.support.planning import FACTS, RTX_5080, trio
from tests.support.typed import ROOT

HOST = host(8 * GIB, 7 * GIB, "for a test")


def bench_request(
    *models: dict[str, Any],
    gpu: Gpu | str = RTX_5080,
    profile: str = "standard",
    words: Mapping[str, Any] | None = None,
    **more: Any,
) -> BenchRequest:
    """A request on a plan of these models, or of a trio; `words` are more of the manifest's, `more` its own."""
    return on(planning.ask(*(models or trio()), gpu=gpu, **(words or {})), profile, **more)


def on(asked: PlanInput, profile: str = "standard", **more: Any) -> BenchRequest:
    return BenchRequest(plan(asked), EFFORTS[profile], **more)


def example(name: str, profile: str, **more: Any) -> BenchRequest:
    """A request on an example of compose/, for the card that its manifest or gpu.json names."""
    return BenchRequest(planned(read_project(ROOT / "compose" / name / "monogpu.yaml"), None), EFFORTS[profile], **more)


def protocols(of: BenchRequest) -> dict[str, Protocol]:
    return {name: module.protocol(of) for name, module in EXPERIMENTS.items()}


def planned_variants(of: BenchRequest, protocol: Protocol) -> dict[str, Plan]:
    """Each stack's plan, on the same card. Its manifest keeps the rules."""
    variants = {trial.variant.key: trial.variant.manifest for trial in protocol.trials}
    for manifest in variants.values():
        assert not list(rules.broken(manifest, ENGINES))
    return {key: plan(PlanInput(found, FACTS, of.plan.gpu)) for key, found in variants.items()}


@st.composite
def bench_requests(draw: st.DrawFn) -> BenchRequest:
    """Any models of real architectures on any card that holds them, or on the host, with any effort."""
    asked = planning.ask(*draw(planning.models(most=3)), gpu=draw(planning.cards))
    if draw(st.sampled_from([False, False, True])):
        total = asked.gpu.total_bytes
        asked = replace(asked, gpu=host(total, total, "for a test"))
    try:
        return on(asked, draw(st.sampled_from(sorted(EFFORTS))))
    except NoRoom:
        reject()
