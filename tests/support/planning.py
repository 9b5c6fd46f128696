"""Manifests, facts and cards to plan with."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from kit.facts.facts import Facts
from kit.facts.facts_json import read_recorded
from kit.gpu import Gpu, from_size
from kit.manifest.model import Manifest
from kit.planner.workers import PlanInput
from kit.units import MIB
from tests.support.readings import RECORDED

FACTS: dict[str, Facts] = read_recorded(RECORDED / "h200-facts.json")
CHAT, SMALL, TINY = "Qwen/Qwen2.5-1.5B-Instruct", "Qwen/Qwen2.5-0.5B-Instruct", "HuggingFaceTB/SmolLM2-360M-Instruct"
LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
RTX_5080 = Gpu("NVIDIA GeForce RTX 5080", 16_610_000_000, 16_610_000_000, compute_capability="12.0")


def model(name: str = "chat", source: str = CHAT, **words: Any) -> dict[str, Any]:
    return {"name": name, "source": source, **words}


def ask(*models: dict[str, Any], gpu: Gpu | str = RTX_5080, **words: Any) -> PlanInput:
    """A manifest of these models on a card, with the recorded facts of real architectures."""
    card = from_size(gpu) if isinstance(gpu, str) else gpu
    return PlanInput(Manifest.model_validate({"name": "test", "models": models, **words}), FACTS, card)


def trio(**words: Any) -> tuple[dict[str, Any], ...]:
    return model("chat", CHAT, **words), model("small", SMALL, **words), model("tiny", TINY, **words)


SOURCES = tuple(FACTS)


@st.composite
def models(draw: st.DrawFn, least: int = 1, most: int = 6) -> list[dict[str, Any]]:
    """Up to `most` models of real architectures, with whatever the manifest may say of memory."""
    count = draw(st.integers(least, most))
    return [
        model(
            f"m{number}",
            draw(st.sampled_from(SOURCES)),
            context=draw(st.sampled_from(["auto", 512, 1024, 2048, 4096])),
            requests=draw(st.sampled_from(["auto", 1, 8, 32, 100, 256])),
            graphs=draw(st.sampled_from(["auto", "full", "small", "off"])),
            weight=draw(st.sampled_from([0.5, 1, 2, 3.25])),
            memory=draw(st.sampled_from(["auto", "auto", "auto", 6 * 1024 * MIB])),
            replicas=draw(st.sampled_from([1, 1, 1, 2])),
        )
        for number in range(count)
    ]


cards = st.integers(2_000, 100_000).map(lambda mib: from_size(f"{mib}MiB"))
