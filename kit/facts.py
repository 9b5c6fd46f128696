"""What a model's own files say: config.json and the headers of its safetensors. Pure; `hub.py` reads the files.

Tensors are kept grouped: the layer number in a name becomes `*`, equal tensors are counted. So the facts of a 7B model
are a dozen lines that a person can read in a recorded facts.json, and still exact to the byte.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Literal

DTYPE_BYTES = {
    "F64": 8, "F32": 4, "F16": 2, "BF16": 2, "F8_E4M3": 1, "F8_E5M2": 1, "F8_E8M0": 1, "F4": 0.5,
    "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "U32": 4, "U16": 2, "BOOL": 1,
}  # fmt: skip


@dataclass(frozen=True)
class Tensor:
    """`count` equal tensors. `name` has `*` for the layer number; `dtype` as safetensors spells it (BF16, F32, I32)."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    count: int = 1

    @property
    def parameters(self) -> int:
        """Elements of one of them."""
        return prod(self.shape)

    @property
    def bytes(self) -> int:
        """Bytes of one of them, as stored."""
        return int(self.parameters * DTYPE_BYTES[self.dtype])


@dataclass(frozen=True)
class Attention:
    """How `layers` layers remember. full and sliding: `kv_heads` x (`head_dim_k` + `head_dim_v`) a token; sliding forgets
    beyond `window` tokens; mla: one latent of `head_dim_k` (kv_lora_rank + qk_rope_head_dim), no v; linear: a state of
    `state_bytes` a request, whatever its length."""

    kind: Literal["full", "sliding", "mla", "linear"]
    layers: int
    kv_heads: int = 0
    head_dim_k: int = 0
    head_dim_v: int = 0
    window: int | None = None
    state_bytes: int = 0


@dataclass(frozen=True)
class Facts:
    """One model. Sizes count elements; `dtype` is what the engine will serve it in (bfloat16, float16, float32)."""

    source: str
    revision: str | None
    architecture: str
    hidden: int
    intermediate: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab: int
    max_position: int
    dtype: str
    tied: bool
    attention: tuple[Attention, ...]
    tensors: tuple[Tensor, ...]
    rotary_dim: int = 0
    quantization: str | None = None
    experts_per_token: int = 0
    expert_intermediate: int = 0
    from_headers: bool = False
    chat_template: bool | None = None

    @property
    def parameters(self) -> int:
        """All parameters, tied heads counted once."""
        return sum(t.parameters * t.count for t in self.tensors)

    @property
    def checkpoint_bytes(self) -> int:
        """What the files hold, tied heads counted once."""
        return sum(t.bytes * t.count for t in self.tensors)


@dataclass(frozen=True)
class AdapterFacts:
    """One LoRA adapter, from its adapter_config.json. `rank` is `r`, `base` is base_model_name_or_path."""

    source: str
    revision: str | None
    rank: int
    base: str
    modules: tuple[str, ...]
