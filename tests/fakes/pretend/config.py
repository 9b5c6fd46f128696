"""Args and Shape -> Config: what vLLM fills in where a flag is missing, and what it refuses before the card."""

from __future__ import annotations

from dataclasses import dataclass

from .argv import Args
from .errors import GIB, bad_utilization, batch_below_seqs, length_above_model
from .models import Shape


@dataclass(frozen=True)
class Config:
    """`max_model_len` in tokens; `kv_bytes` per number of the cache; `graphs` the sizes captured, none when eager.

    `auto_len`: the length was left to what fits the memory (`--max-model-len auto`)."""

    max_model_len: int
    auto_len: bool
    max_num_seqs: int
    max_num_batched_tokens: int
    block_size: int
    kv_bytes: float
    graphs: tuple[int, ...]
    pooling: bool
    task: str
    utilization: float


def resolve(args: Args, shape: Shape, card_total: int, cpu: bool, long_len_allowed: bool) -> Config:
    """Raises StartError where vLLM's own config refuses."""
    if not 0 < args.gpu_memory_utilization <= 1:
        raise bad_utilization(args.gpu_memory_utilization)
    length = _length(args, shape, long_len_allowed)
    pooling = args.runner == "pooling" or (args.runner == "auto" and _pools(args, shape))
    seqs, tokens = _batch(args, length, card_total, cpu)
    return Config(
        max_model_len=length,
        auto_len=args.max_model_len == -1,
        max_num_seqs=seqs,
        max_num_batched_tokens=tokens,
        block_size=args.block_size or (128 if cpu else 16),
        kv_bytes=_kv_bytes(args.kv_cache_dtype, shape.runtime),
        graphs=() if cpu or args.enforce_eager or args.cudagraph_mode == "NONE" else capture_sizes(args, seqs, tokens),
        pooling=pooling,
        task=_task(args, shape) if pooling else "generate",
        utilization=args.gpu_memory_utilization,
    )


def _pools(args: Args, shape: Shape) -> bool:
    return shape.encoder or args.convert in ("embed", "classify")


def _task(args: Args, shape: Shape) -> str:
    """embed gives vectors; classify gives scores (a cross-encoder)."""
    if args.convert in ("embed", "classify"):
        return args.convert
    return "classify" if "SequenceClassification" in shape.architecture else "embed"


def _length(args: Args, shape: Shape, long_len_allowed: bool) -> int:
    asked = args.max_model_len
    if asked is None or asked == -1:
        return shape.positions
    if asked > shape.positions and not long_len_allowed:
        raise length_above_model(asked, shape.positions)
    return asked


def _batch(args: Args, length: int, card_total: int, cpu: bool) -> tuple[int, int]:
    """(max_num_seqs, max_num_batched_tokens); the defaults are those of the API server by the card's size."""
    large = not cpu and card_total >= 70 * GIB
    seqs = args.max_num_seqs or (1024 if large else 128 if cpu else 256)
    tokens = args.max_num_batched_tokens
    if tokens is None:
        tokens = min(8192 if large else 2048, seqs * length)
        seqs = seqs if args.max_num_seqs else min(seqs, tokens)
    if tokens < seqs:
        raise batch_below_seqs(tokens, seqs)
    return seqs, tokens


def _kv_bytes(dtype: str, runtime: int) -> float:
    if dtype in ("auto", "float16", "bfloat16"):
        return runtime if dtype == "auto" else 2
    return 0.5 if dtype.startswith(("int4", "nvfp4")) else 1


def capture_sizes(args: Args, seqs: int, tokens: int) -> tuple[int, ...]:
    """1, 2, 4, then every 8 below 256, then every 16, up to twice max_num_seqs (at most 512) or as the flags say."""
    if args.capture_sizes:
        return tuple(sorted({size for size in args.capture_sizes if size <= tokens}))
    top = min(tokens, args.max_capture_size or min(2 * seqs, 512))
    sizes = [size for size in (1, 2, 4) if size <= top]
    sizes += range(8, min(top + 1, 256), 8)
    sizes += range(256, top + 1, 16)
    return tuple(sorted({*sizes, *([tokens] if tokens <= top else [])}))
