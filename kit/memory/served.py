"""What flags make of a model: its type, its states, what is not loaded, and the elements of its KV cache. Pure.

A type of KV cache that is not in the table here is refused. Sources: vLLM config/cache.py (CacheDType),
v1/kv_cache_interface.py (pages and scales), utils/torch_utils.py (NVFP4).
"""

from __future__ import annotations

from dataclasses import replace

from kit.facts.attention import Attention
from kit.facts.facts import Facts, served_dtype
from kit.memory.flags import Flags, switched_off

DTYPE_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}

# Types whose elements take whole bytes.
_WHOLE = {"fp8": 1, "fp8_e4m3": 1, "fp8_e5m2": 1, "fp8_inc": 1, **DTYPE_BYTES}
# A float32 scale for each head and token beside the elements; those of int4 are two in a byte, but not in a window.
_SCALED = ("int8_per_token_head", "fp8_per_token_head", "int4_per_token_head")
_NVFP4 = ("nvfp4", "nvfp4_4over6")

PRICED = ("auto", *_WHOLE, *_SCALED, *_NVFP4)
# Named by vLLM, but each model lays them out its own way.
UNPRICED = {
    "fp8_ds_mla": "the layout of DeepSeek's sparse attention",
    "nvfp4_ds_mla": "the layout of DeepSeek's sparse attention",
    "turboquant_k8v4": "a packed layout that leaves some layers as they are",
    "turboquant_4bit_nc": "a packed layout that leaves some layers as they are",
    "turboquant_k3v4_nc": "a packed layout that leaves some layers as they are",
    "turboquant_3bit_nc": "a packed layout that leaves some layers as they are",
    "ultraquant_4bit": "a packed layout that leaves some layers as they are",
}


def element_of(kv_dtype: str, served: str) -> int:
    """Bytes of an element before anything is packed; auto takes the type that the model is served in."""
    return DTYPE_BYTES.get(served, 2) if kv_dtype == "auto" else _WHOLE.get(kv_dtype, 1)


def head_bytes(kv_dtype: str, width: int, element: int, sliding: bool = False) -> int:
    """`width` elements of one head and token, with their scales."""
    if kv_dtype in _NVFP4:
        return width // 2 + width // 16
    packed = width // 2 if kv_dtype == "int4_per_token_head" and not sliding else width * element
    return packed + (4 if kv_dtype in _SCALED else 0)


# Beginnings of the names of encoders and projectors, which --language-model-only leaves out.
_TOWERS = (
    "visual.", "vision_tower.", "vision_model.", "vision_encoder.", "vit.", "multi_modal_projector.", "mm_projector.",
    "patch_merger.", "audio_tower.", "audio_encoder.", "embed_vision.", "embed_audio.", "vision_embed_tokens.",
)  # fmt: skip
_SPELT = {"half": "float16", "float": "float32"}


def served(facts: Facts, flags: Flags, compute_capability: str | None) -> Facts:
    """`facts` as they are served: in --dtype, or in what a card without bfloat16 takes instead."""
    tensors = facts.tensors
    if flags.text_only:
        tensors = tuple(t for t in tensors if not t.name.removeprefix("model.").startswith(_TOWERS))
    blind = {"image", "video"} <= set(switched_off(flags))
    kinds = tuple(_state(kind, flags.ssm_dtype) for kind in facts.attention)
    return replace(
        facts,
        dtype=_dtype(facts, flags, compute_capability),
        tensors=tensors,
        attention=kinds,
        encoder=None if blind else facts.encoder,
    )


def _dtype(facts: Facts, flags: Flags, compute_capability: str | None) -> str:
    asked = _SPELT.get(flags.dtype or "", flags.dtype or "auto")
    if asked != "auto":
        return asked
    if compute_capability is None or float(compute_capability) >= 8 or facts.dtype != "bfloat16":
        return facts.dtype
    return served_dtype(facts.stored_dtype or facts.dtype, compute_capability, architecture=facts.architecture)


def _state(kind: Attention, ssm_dtype: str | None) -> Attention:
    width = DTYPE_BYTES.get(ssm_dtype or "", kind.ssm_width)
    change = kind.ssm_elements * (width - kind.ssm_width)
    return replace(kind, state_bytes=kind.state_bytes + change, ssm_width=width) if change else kind
