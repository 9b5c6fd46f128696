"""What a KV cache costs: the arithmetic of vLLM's block pool, to the byte. Pure.

Theory. Every attention layer keeps `block_tokens` tokens in one page. Layers of one kind form groups of equal
size; the pool hands out whole blocks, and one block is a page in each layer of a group. A request of `context` tokens
takes some blocks of every group, so the pool's token count depends on the context:
tokens = int(blocks / blocks_per_request x context), which is what vLLM logs as "GPU KV cache size".
Sources: vLLM v1/core/kv_cache_utils.py (groups, capacity), v1/kv_cache_interface.py (pages, windows).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from kit.facts.facts import Attention, Facts
from kit.units import MIB, up

# Bytes of one KV element by --kv-cache-dtype; auto takes the model's.
ELEMENT_BYTES = {"auto": 2, "bfloat16": 2, "float16": 2, "float32": 4, "fp8": 1, "fp8_e4m3": 1, "fp8_e5m2": 1}
SEGMENT = 2 * MIB
DIRECT = 10 * MIB


def device_bytes(size: int, direct: int = DIRECT) -> int:
    """What the CUDA caching allocator takes from the driver for one tensor of `size` bytes: from `direct` on, whole
    2 MiB segments of its own; smaller ones share segments, at 512 bytes a step (c10/cuda/CUDACachingAllocator)."""
    return up(size, SEGMENT) if size >= direct else up(size, 512)


@dataclass(frozen=True)
class KvCost:
    """One model's pool. `page_bytes` is one block in one tensor, `tensors` are allocated apart (the size of a group),
    `blocks_per_request` serve one request of `context` tokens. All zero for a model that keeps no cache."""

    page_bytes: int
    tensors: int
    blocks_per_request: int
    block_tokens: int
    context: int
    token_bytes: int

    @property
    def block_bytes(self) -> int:
        """One block of the pool, over all its tensors."""
        return self.page_bytes * self.tensors

    def bytes_for(self, requests: int) -> int:
        """What so many requests of full context can use at most, with the null block that vLLM keeps."""
        return self.block_bytes * (self.blocks_per_request * requests + 1)

    def tokens(self, kv_bytes: int) -> int:
        """The token count vLLM logs for a pool of `kv_bytes`."""
        return int(self.concurrency(kv_bytes) * self.context)

    def concurrency(self, kv_bytes: int) -> float:
        """Requests of full context that fit at once."""
        return kv_bytes // self.block_bytes / self.blocks_per_request if self.tensors else 0.0

    def driver_bytes(self, kv_bytes: int) -> int:
        """What a pool of `kv_bytes` takes on the card: every tensor is rounded up by the allocator."""
        if not self.tensors:
            return 0
        return self.tensors * device_bytes(kv_bytes // self.block_bytes * self.page_bytes)

    def largest_within(self, budget: int) -> int:
        """The most KV bytes whose `driver_bytes` stay within `budget`; whole blocks, 0 when not one fits."""
        if not self.tensors:
            return 0
        each = budget // self.tensors
        blocks = (each // SEGMENT * SEGMENT if each >= DIRECT else each // 512 * 512) // self.page_bytes
        return max(blocks, 0) * self.block_bytes


def kv_cost(
    facts: Facts, context: int, kv_dtype: str = "auto", block_tokens: int = 16, in_flight: int = 4096
) -> KvCost:
    """The pool of `facts` served at `context`. `in_flight` is 2 x max_num_batched_tokens: what a sliding window must
    hold beyond its window while two batches overlap."""
    kinds = [kind for kind in facts.attention if kind.layers and kind.kind != "linear"]
    states = [kind for kind in facts.attention if kind.layers and kind.kind == "linear"]
    element = 4 if kv_dtype == "auto" and facts.dtype == "float32" else ELEMENT_BYTES.get(kv_dtype, 2)
    if not kinds:
        return KvCost(0, 0, 0, block_tokens, context, 0)
    per_token = max(_token_bytes(kind, element, kv_dtype) for kind in kinds)
    block = block_tokens
    if states:
        block = up(ceil(max(kind.state_bytes for kind in states) / per_token), block_tokens)
    size = _group_size([kind.layers for kind in [*kinds, *states]])
    need = sum(ceil(kind.layers / size) * _blocks(kind, context, block, in_flight) for kind in [*kinds, *states])
    token_bytes = sum(kind.layers * _token_bytes(kind, element, kv_dtype) for kind in kinds)
    return KvCost(per_token * block, size, need, block, context, token_bytes)


def _token_bytes(kind: Attention, element: int, kv_dtype: str) -> int:
    """One token in one layer. MLA keeps one latent for all heads; int4 halves, per-token-head types add two scales."""
    if kind.kind == "mla":
        return kind.head_dim_k * element
    return kind.kv_heads * (kind.head_dim_k + kind.head_dim_v) * element


def _group_size(layers: list[int]) -> int:
    """Layers a group: the rarest kind's count, or the commonest's when that is less than half as many again."""
    return max(layers) if max(layers) < 1.5 * min(layers) else min(layers)


def _blocks(kind: Attention, context: int, block: int, in_flight: int) -> int:
    """Blocks that one request of `context` tokens holds in one group of this kind."""
    if kind.kind == "linear":
        return 1
    if kind.kind == "sliding" and kind.window and kind.window < context:
        return ceil(min(kind.window - 1 + in_flight, context) / block) + 1
    return ceil(context / block)
