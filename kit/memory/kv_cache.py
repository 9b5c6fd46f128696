"""What a KV cache costs: the arithmetic of vLLM's block pool, to the byte. Pure.

Theory. Every attention layer keeps `block_tokens` tokens in one page. Layers of one kind form groups of equal
size; the pool hands out whole blocks, and one block is a page in each layer of a group. Where tokens of some layers
cost less than others', their blocks hold more tokens, so that all pages are equal. A request of `context` tokens
takes some blocks of every group, so the pool's token count depends on the context:
tokens = int(blocks / blocks_per_request x context), which is what vLLM logs as "GPU KV cache size".
Sources: vLLM v1/core/kv_cache_utils.py (groups, unequal pages, capacity), v1/kv_cache_interface.py (pages, windows),
platforms/interface.py (blocks as large as a state).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from math import ceil, lcm
from typing import Literal

from kit.facts.facts import Attention, Facts
from kit.memory.served import element_of, head_bytes
from kit.units import MIB, up

States = Literal["one", "two", "block"]
SEGMENT = 2 * MIB
DIRECT = 10 * MIB


def device_bytes(size: int, direct: int = DIRECT) -> int:
    """What the CUDA caching allocator takes from the driver for one tensor of `size` bytes: from `direct` on, whole
    2 MiB segments of its own; smaller ones share segments, at 512 bytes a step (c10/cuda/CUDACachingAllocator)."""
    return up(size, SEGMENT) if size >= direct else up(size, 512)


@dataclass(frozen=True)
class CacheRules:
    """What flags and versions make of a cache. `in_flight` tokens must a sliding window hold beyond its window:
    max_num_batched_tokens for each batch that is on its way. `keep_all`: sliding layers keep all tokens, too;
    `states` says what prefix caching keeps of a state: "one" a request (off), "two" (align), or one a "block" (all)."""

    kv_dtype: str = "auto"
    block_tokens: int = 16
    in_flight: int = 4096
    keep_all: bool = False
    states: States = "one"


@dataclass(frozen=True)
class KvCost:
    """One model's pool. `pages` are the bytes of one block in each tensor, which are allocated apart;
    `blocks_per_request` serve one request of `context` tokens; `has_states` where some of them are states, of which
    every request in a decode graph has one. No pages for a model that keeps no cache."""

    pages: tuple[int, ...]
    blocks_per_request: int
    block_tokens: int
    context: int
    token_bytes: int
    has_states: bool = False

    @property
    def tensors(self) -> int:
        """How many tensors there are: a group's layers."""
        return len(self.pages)

    @property
    def block_bytes(self) -> int:
        """One block of the pool, over all its tensors."""
        return sum(self.pages)

    def bytes_for(self, requests: int) -> int:
        """What so many requests of full context can use at most, with the null block that vLLM keeps."""
        return self.block_bytes * (self.blocks_per_request * requests + 1)

    def least_bytes(self, captured: int) -> int:
        """The smallest pool that vLLM starts with: a request of full context, and a block for each of the requests
        whose decode graphs are `captured` where the model has states (config/compilation.py; 0 without graphs)."""
        blocks = max(self.blocks_per_request + 1, captured if self.has_states else 0)
        return self.block_bytes * blocks

    def tokens(self, kv_bytes: int) -> int:
        """The token count vLLM logs for a pool of `kv_bytes`."""
        return int(self.concurrency(kv_bytes) * self.context)

    def blocks(self, kv_bytes: int) -> int:
        """Whole blocks in a pool of `kv_bytes`."""
        return kv_bytes // self.block_bytes if self.pages else 0

    def concurrency(self, kv_bytes: int) -> float:
        """Requests of full context that fit at once."""
        return self.blocks(kv_bytes) / self.blocks_per_request if self.pages else 0.0

    def driver_bytes(self, kv_bytes: int) -> int:
        """What a pool of `kv_bytes` takes on the card: every tensor is rounded up by the allocator."""
        return self._on_card(self.blocks(kv_bytes))

    def largest_within(self, budget: int) -> int:
        """The most KV bytes whose `driver_bytes` stay within `budget`; whole blocks, 0 when not one fits."""
        low, high = 0, max(budget, 0) // self.block_bytes if self.pages else 0
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self._on_card(middle) <= budget else (low, middle - 1)
        return low * self.block_bytes

    def _on_card(self, blocks: int) -> int:
        return sum(count * device_bytes(blocks * page) for page, count in Counter(self.pages).items())


@dataclass(frozen=True)
class _Group:
    """Equal layers: `page` bytes for `block` tokens in each of them; a request takes `blocks`."""

    kind: Attention
    page: int
    block: int


def kv_cost(facts: Facts, context: int, rules: CacheRules = CacheRules()) -> KvCost:
    """The pool of `facts` served at `context`."""
    kv_dtype = facts.kv_dtype if rules.kv_dtype == "auto" and facts.kv_dtype else rules.kv_dtype
    element = element_of(kv_dtype, facts.dtype)
    kinds = [_kept(kind, rules) for kind in facts.attention if kind.layers and kind.kind != "linear"]
    states = [kind for kind in facts.attention if kind.layers and kind.kind == "linear"]
    if not kinds:
        return KvCost((), 0, rules.block_tokens, context, 0)
    each = {kind: _token_bytes(kind, element, kv_dtype) for kind in kinds}
    block = _block(states, max(each.values()), rules)
    groups = [_Group(kind, block * each[kind], block) for kind in kinds]
    token_bytes = sum(kind.layers * each[kind] for kind in kinds)
    if _uniform(kinds) and not states:
        pages = tuple(group.page for group in groups for _ in range(group.kind.layers))
        need = max(_blocks(kind, context, block, rules) for kind in kinds)
        return KvCost(pages, need, block, context, token_bytes)
    page = max(group.page for group in groups)
    groups = [_with_page(group, page) for group in groups] + [_Group(kind, page, block) for kind in states]
    size = _group_size([group.kind.layers for group in groups])
    need = sum(ceil(one.kind.layers / size) * _blocks(one.kind, context, one.block, rules) for one in groups)
    return KvCost((page,) * size, need, block, context, token_bytes, bool(states))


def unequal(facts: Facts) -> bool:
    """Whether tokens of some layers cost more than those of others."""
    return len({_token_bytes(kind, 2, "auto") for kind in facts.attention if kind.kind != "linear"}) > 1


def _kept(kind: Attention, rules: CacheRules) -> Attention:
    return replace(kind, kind="full", window=None) if rules.keep_all and kind.kind in ("full", "sliding") else kind


def _uniform(kinds: list[Attention]) -> bool:
    """Whether all layers hold equally many tokens: they form one group, whose pages may differ."""
    return len({kind.window for kind in kinds}) == 1


def _block(states: list[Attention], token_bytes: int, rules: CacheRules) -> int:
    """Tokens a block: raised until its page holds a state; with a state a block, whole chunks of the state's kernel."""
    if not states:
        return rules.block_tokens
    largest = max(kind.state_bytes for kind in states)
    chunk = max(kind.state_chunk for kind in states) if rules.states == "block" else 0
    return up(ceil(largest / token_bytes), lcm(chunk or 1, rules.block_tokens))


def _with_page(group: _Group, page: int) -> _Group:
    """Smaller pages hold more tokens, where a whole multiple does; else they are padded."""
    ratio = page // group.page if page % group.page == 0 else 1
    return replace(group, page=page, block=group.block * ratio)


def _token_bytes(kind: Attention, element: int, kv_dtype: str) -> int:
    """One token in one layer. MLA keeps one latent for all heads."""
    if kind.kind == "mla":
        return head_bytes(kv_dtype, kind.head_dim_k, element)
    sides = (kind.head_dim_k, kind.head_dim_v)
    return kind.kv_heads * sum(head_bytes(kv_dtype, side, element, kind.kind == "sliding") for side in sides)


def _group_size(layers: list[int]) -> int:
    """Layers a group: the rarest kind's count, or the commonest's when that is less than half as many again."""
    return max(layers) if max(layers) < 1.5 * min(layers) else min(layers)


def _blocks(kind: Attention, context: int, block: int, rules: CacheRules) -> int:
    """Blocks that one request of `context` tokens holds in one group of this kind."""
    if kind.kind == "linear":
        return ceil(context / block) if rules.states == "block" else 2 if rules.states == "two" else 1
    if kind.kind == "sliding" and kind.window and kind.window < context:
        return ceil(min(kind.window - 1 + rules.in_flight, context) / block) + 1
    return ceil(context / block)
