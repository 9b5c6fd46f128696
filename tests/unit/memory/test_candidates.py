"""What every candidate of a worker's ladder keeps to."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kit.memory.candidates import candidates
from kit.memory.vllm_versions import traits_of
from kit.memory.worker import CardTraits, WorkerSettings
from tests.support.planning import CHAT, FACTS, ask

BASE = WorkerSettings(context=0, requests=0, batched_tokens=2048)
CARD = CardTraits("12.0", traits_of(None))


@pytest.mark.parametrize(("context", "batch"), [(512, 2048), (2048, 2048), (8192, 8192)])
def test_an_encoder_s_batch_holds_a_prompt_of_full_context(context: int, batch: int) -> None:
    """vLLM refuses to start an encoder whose batch is smaller than its context: it reads no prompt in parts."""
    encoder = replace(FACTS[CHAT], attention=())
    (model,) = ask({"name": "embed", "source": CHAT, "task": "embed", "context": context}).manifest.models
    assert {candidate.setting.batched_tokens for candidate in candidates(model, encoder, BASE, CARD)} == {batch}


def test_a_decoder_reads_long_prompts_in_parts() -> None:
    (model,) = ask({"name": "chat", "source": CHAT, "context": 8192}).manifest.models
    assert {candidate.setting.batched_tokens for candidate in candidates(model, FACTS[CHAT], BASE, CARD)} == {2048}


def test_a_batch_holds_a_token_of_every_request() -> None:
    (model,) = ask({"name": "chat", "source": CHAT, "context": 512, "requests": 4096}).manifest.models
    assert {candidate.setting.batched_tokens for candidate in candidates(model, FACTS[CHAT], BASE, CARD)} == {4096}
