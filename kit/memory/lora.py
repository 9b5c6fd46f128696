"""What vLLM adapts in a model, and what the slots for its adapters cost. Pure.

Theory. For every slot and every linear layer vLLM reserves A (rank x in) and B (out x rank) when the model is loaded,
whether adapters exist or not (lora/layers/base_linear.py, column_parallel_linear.py). Layers that are fused on the card
keep a pair for each part, so the file's own tensors give the count: each takes rank x (in + out) elements. Counted in
a running vLLM 0.32 for a small tied Llama: the same to the byte.
"""

from __future__ import annotations

from collections.abc import Iterator

from kit.facts.facts import Facts
from kit.facts.tensors import Tensor

RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)  # config/lora.py, MaxLoRARanks; a rank between two takes the larger
DEFAULT_RANK = 16
# vLLM refuses to adapt a head with more entries (lora/layers/logits_processor.py).
LARGEST_HEAD = 258_048

# Architectures whose embedding and head are adapted too (`embedding_modules` in model_executor/models, vLLM 0.26).
ADAPTED_VOCABULARY = (
    "ApertusForCausalLM", "CwmForCausalLM", "DeciLMForCausalLM", "Ernie4_5ForCausalLM", "Exaone4ForCausalLM",
    "FalconH1ForCausalLM", "GlmForCausalLM", "GraniteForCausalLM", "GraniteMoeForCausalLM",
    "GraniteMoeHybridForCausalLM", "GraniteMoeSharedForCausalLM", "HyperCLOVAXForCausalLM", "IQuestCoderForCausalLM",
    "InternLM3ForCausalLM", "Jais2ForCausalLM", "JambaForCausalLM", "LLaMAForCausalLM", "Lfm2ForCausalLM",
    "Lfm2MoeForCausalLM", "LlamaForCausalLM", "MiniCPM3ForCausalLM", "MiniCPMForCausalLM", "MixtralForCausalLM",
    "NemotronForCausalLM", "NemotronHForCausalLM", "Phi3ForCausalLM", "PhiMoEForCausalLM", "Qwen3ForCausalLM",
    "Qwen3MoeForCausalLM", "SolarForCausalLM", "TeleChat3ForCausalLM",
)  # fmt: skip
# Its tied head is the embedding itself, which is then adapted once more beside the logits (0.26; no longer in 0.32).
SHARED_HEAD = ("Qwen3ForCausalLM",)


def served_rank(rank: int) -> int:
    """The smallest rank that vLLM takes and that holds an adapter of `rank`; the largest for one that none holds."""
    return next((allowed for allowed in RANKS if allowed >= rank), RANKS[-1])


def slot_bytes(facts: Facts, rank: int, element: int) -> int:
    """What one slot of `rank` reserves, `element` bytes each: A and B of every linear layer, and of the vocabulary for
    the architectures that adapt theirs."""
    linear = sum((out + wide) * count for (out, wide), count in _linear(facts))
    return rank * element * (linear + _vocabulary(facts))


def shapes(facts: Facts) -> dict[str, tuple[int, int]]:
    """Place -> (out, in) of what an adapter may change: from the tensors, and from the sizes where those are packed."""
    q, kv, h, i = facts.heads * facts.head_dim, facts.kv_heads * facts.head_dim, facts.hidden, facts.intermediate
    usual = {
        "self_attn.q_proj": (q, h), "self_attn.k_proj": (kv, h), "self_attn.v_proj": (kv, h),
        "self_attn.o_proj": (h, q), "mlp.gate_proj": (i, h), "mlp.up_proj": (i, h), "mlp.down_proj": (h, i),
        "embed_tokens": (facts.vocab, h), "lm_head": (facts.vocab, h),
    }  # fmt: skip
    return usual | {place(tensor.name.removesuffix(".weight")): _sides(tensor) for tensor in _plain(facts)}


def place(module: str) -> str:
    """`model.layers.*.self_attn.q_proj` -> `self_attn.q_proj`: what wraps the layers differs between files."""
    _, layers, inner = module.rpartition("layers.*.")
    return inner if layers else module.rpartition(".")[2]


def _linear(facts: Facts) -> Iterator[tuple[tuple[int, int], int]]:
    """((out, in), how many) of the linear layers; where the file packs them, of the seven that a layer usually has."""
    if facts.quantization and not any(tensor.dtype.startswith("F8") for tensor in facts.tensors):
        yield from ((sides, facts.layers) for name, sides in shapes(facts).items() if name.endswith("_proj"))
        return
    yield from ((_sides(tensor), tensor.count) for tensor in _plain(facts) if "*" in tensor.name.split("."))


def _plain(facts: Facts) -> Iterator[Tensor]:
    """Matrices that are stored as they are."""
    for tensor in facts.tensors:
        if tensor.name.endswith(".weight") and len(tensor.shape) == 2 and "norm" not in tensor.name:
            yield tensor


def _sides(tensor: Tensor) -> tuple[int, int]:
    return tensor.shape[0], tensor.shape[1]


def _vocabulary(facts: Facts) -> int:
    """Elements for each rank of the embedding's and the head's pairs (vocal_parallel_embedding.py,
    logits_processor.py)."""
    if facts.architecture not in ADAPTED_VOCABULARY:
        return 0
    copies = 3 if facts.tied and facts.architecture in SHARED_HEAD else 2
    return copies * (facts.vocab + facts.hidden)
