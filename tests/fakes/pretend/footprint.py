"""What a worker takes on the card, in bytes by cause: a stand-in for the real worker, within some percent of what was
read on a real card with vLLM 0.26 (tests/recorded). Shapes are arithmetic; activations and graphs are fits."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .argv import Args
from .config import Config
from .models import Shape

MIB = 1024**2


@dataclass(frozen=True)
class Footprint:
    """`transient`: the peak of a forward pass and the sampler, kept cached after the warm-up; `block`: one KV block."""

    weights: int
    persist: int
    transient: int
    graphs: int
    block: int


def lora_slot(shape: Shape, rank: int) -> int:
    """Bytes of one adapter's buffers over q, k, v, o, gate, up, down, whether or not an adapter is in it."""
    query, kv = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    hidden, inner = shape.hidden, shape.intermediate
    layer = (3 * hidden + query + 2 * kv) + (query + hidden) + (2 * hidden + 2 * inner) + (inner + hidden)
    return rank * shape.runtime * shape.layers * layer


def footprint(args: Args, shape: Shape, config: Config) -> Footprint:
    slots = args.max_loras * lora_slot(shape, args.max_lora_rank) if args.enable_lora else 0
    return Footprint(
        weights=shape.weights_bytes + _loading(shape) + slots,
        persist=_persist(shape, config),
        transient=_transient(shape, config),
        graphs=_graphs(shape, config, lora=args.enable_lora),
        block=_block(shape, config),
    )


def _loading(shape: Shape) -> int:
    """What loading adds to the tensors: those of 20 MiB and more are rounded up to 2 MiB, and the rope cache."""
    hidden, inner, size = shape.hidden, shape.intermediate, shape.runtime
    query, kv = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    fused = ((query + 2 * kv) * hidden, query * hidden, 2 * inner * hidden, inner * hidden)
    rounding = shape.layers * sum(_rounding(numbers * size) for numbers in fused)
    return rounding + _rounding(shape.vocab * hidden * size) + shape.positions * shape.head_dim * size


def _rounding(count: int) -> int:
    return -count % (2 * MIB) if count >= 20 * MIB else 0


def _persist(shape: Shape, config: Config) -> int:
    """The sampler's penalty buffers, input buffers and block tables."""
    tables = config.max_num_seqs * math.ceil(config.max_model_len / config.block_size) * 4
    inputs = 20 * config.max_num_batched_tokens
    penalties = 0 if config.pooling else config.max_num_seqs * (shape.vocab * 4 + math.ceil(shape.vocab / 32) * 4)
    return tables + inputs + penalties


def _transient(shape: Shape, config: Config) -> int:
    """Half of a layer's widest activations, and logits for as many requests as may run."""
    wide = config.max_num_batched_tokens * (4 * shape.hidden + 3 * shape.intermediate) * shape.runtime // 2
    rows = 0 if config.pooling else min(config.max_num_seqs, config.max_num_batched_tokens)
    return wide + int(7.6 * rows * shape.vocab)


def _graphs(shape: Shape, config: Config, lora: bool) -> int:
    """A fit to the process sizes with and without graphs; with LoRA every size is captured twice."""
    if not config.graphs:
        return 0
    count = len(config.graphs) * (2 if lora else 1)
    return int((65 + 0.235 * count * shape.layers) * MIB)


def _block(shape: Shape, config: Config) -> int:
    """Bytes of one block of the KV cache over all layers; 0 for an encoder, which has none."""
    if shape.encoder:
        return 0
    return int(2 * shape.layers * shape.kv_heads * shape.head_dim * config.kv_bytes) * config.block_size
