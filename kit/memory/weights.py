"""Checkpoint tensors -> what they take on the card: fused as vLLM fuses them, rounded as the allocator rounds. Pure.

vLLM joins q, k and v into one tensor, gate and up into another, and a layer's experts into two stacks
(model_executor/layers/linear.py, fused_moe/layer.py). Each large tensor then takes whole 2 MiB segments.
"""

from __future__ import annotations

from collections import defaultdict

from kit.facts.facts import Facts
from kit.facts.tensors import DTYPE_BYTES, Tensor
from kit.memory.kv_cache import device_bytes
from kit.memory.lora import slot_bytes
from kit.units import MIB, up

_JOINED = {
    "q_proj": "qkv_proj", "k_proj": "qkv_proj", "v_proj": "qkv_proj",
    "query": "qkv_proj", "key": "qkv_proj", "value": "qkv_proj",
    "gate_proj": "gate_up_proj", "up_proj": "gate_up_proj",
    "w1": "w13", "w3": "w13",
}  # fmt: skip
# While weights load, the allocator may not split blocks above 20 MiB: such a tensor takes whole 2 MiB segments
# (v1/worker/gpu_worker.py, _scoped_allocator_max_split). Smaller ones share segments.
WHOLE = 20 * MIB
SERVED = {"bfloat16": 2, "float16": 2, "float32": 4}
_MXFP4 = ("mxfp4", "gpt_oss_mxfp4")
_FLOATS = ("F64", "F32", "F16", "BF16")


def weights_bytes(facts: Facts, quantization: str | None = None) -> int:
    """Bytes on the card. Floating tensors are converted to the dtype served; packed ones keep theirs. `quantization`
    is done at start (fp8, ...): linear layers then take one byte an element."""
    sizes: dict[tuple[str, int], int] = defaultdict(int)
    for tensor in facts.tensors:
        copies, name = _fused(tensor, facts.experts)
        sizes[name, copies] += _served(tensor, facts, quantization) * (tensor.count // copies)
    stored = sum(device_bytes(size, WHOLE) * copies for (_, copies), size in sizes.items())
    return stored + shared_layers_bytes(facts)


def per_layer_width(facts: Facts) -> int:
    """Elements of a token's inputs to all layers (Gemma 3n and 4: embed_tokens_per_layer); 0 for other models."""
    return next((t.shape[1] for t in facts.tensors if t.name.endswith("embed_tokens_per_layer.weight")), 0)


def shared_layers_bytes(facts: Facts) -> int:
    """Keys and values of layers that share another's cache: vLLM makes their matrices all the same, and no checkpoint
    has them (model_executor/models/gemma4.py, Gemma4Attention). The shared layers are of the kept ones' kinds."""
    kept = sum(kind.layers for kind in facts.attention)
    if not per_layer_width(facts) or not kept:
        return 0
    each = sum(kind.layers * kind.kv_heads * (kind.head_dim_k + kind.head_dim_v) for kind in facts.attention)
    return each * facts.hidden * SERVED.get(facts.dtype, 2) * (facts.layers - kept) // kept


def rope_bytes(facts: Facts) -> int:
    """The cos/sin cache: max_position x rotary_dim, kept in the dtype served (rotary_embedding/base.py)."""
    elements = facts.rope_elements or facts.max_position * facts.rotary_dim
    return device_bytes(elements * SERVED.get(facts.dtype, 2), WHOLE)


def _fused(tensor: Tensor, experts: int) -> tuple[int, str]:
    """(how many of the fused tensor there are, its name). The experts of one layer become one stack."""
    parts = tensor.name.split(".")
    joined = ".".join(_JOINED.get(part, part) for part in parts)
    stacked = "experts" in parts and parts.count("*") > 1 and experts and tensor.count % experts == 0
    return (tensor.count // experts if stacked else tensor.count), joined


def _served(tensor: Tensor, facts: Facts, quantization: str | None) -> int:
    if tensor.dtype not in _FLOATS:
        return _padded(tensor) if facts.quantization in _MXFP4 else tensor.bytes
    if quantization in ("fp8", "fp8_per_tensor") and _is_linear(tensor):
        return tensor.parameters
    return int(tensor.parameters * (SERVED.get(facts.dtype) or DTYPE_BYTES[tensor.dtype]))


def _padded(tensor: Tensor) -> int:
    """MXFP4 experts as Marlin and FlashInfer keep them: the intermediate size in whole 128, the hidden size in whole
    256 (fused_moe/oracle/mxfp4.py, mxfp4_round_up_hidden_size_and_intermediate_size)."""
    gate = "gate_up_proj" in tensor.name
    if not tensor.name.endswith(("_blocks", "_scales")) or len(tensor.shape) < 3 or not (gate or "down" in tensor.name):
        return tensor.bytes
    rows, blocks = tensor.shape[1], tensor.shape[2]
    wide = (2 * up(rows // 2, 128), up(blocks * 32, 256)) if gate else (up(rows, 256), up(blocks * 32, 128))
    return tensor.bytes * wide[0] * wide[1] // (rows * blocks * 32)


def _is_linear(tensor: Tensor) -> bool:
    return len(tensor.shape) == 2 and not any(word in tensor.name for word in ("embed", "lm_head", "norm"))


def lora_bytes(facts: Facts, slots: int, rank: int) -> int:
    """What `slots` adapters of `rank` reserve at load, in the dtype served."""
    return slots * slot_bytes(facts, rank, SERVED.get(facts.dtype, 2))
