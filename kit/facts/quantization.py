"""Rows -> tensors, as a quantised file stores them. Pure.

Formats whose packing follows from config.json alone: AWQ and GPTQ (AutoAWQ, AutoGPTQ: several weights in one int32,
scales and zeros a group), and FP8 in blocks (Qwen, DeepSeek). The others need the weights' headers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from kit.facts.config_json import Quantization, unusable
from kit.facts.families.rows import Row
from kit.facts.tensors import Tensor, counted, starred

Packing = Callable[[str, int, int, int, Quantization], list[Tensor]]


def stored(source: str, rows: Iterable[Row], dtype: str, how: Quantization | None) -> tuple[Tensor, ...]:
    """`dtype` is safetensors' word for what is not quantised. Raises ModelFilesError when the packing is not known."""
    if how is not None and how.method not in PACKINGS:
        raise unusable(
            source,
            f"weights of kind {how.method} cannot be counted from config.json",
            "the weights' headers are needed",
        )
    return counted(tensor for row in rows if row.count for tensor in _tensors(row, dtype, how))


def _tensors(row: Row, dtype: str, how: Quantization | None) -> Iterator[Tensor]:
    if how is None or not row.packed or _kept(row.name, how):
        yield Tensor(row.name, dtype, row.shape, row.count)
        return
    out, into = row.shape
    yield from PACKINGS[how.method](row.name.removesuffix(".weight"), out, into, row.count, how)


def _kept(name: str, how: Quantization) -> bool:
    """Whether the file says that this module is not converted, by its whole name or by whole steps of it."""
    return any(f".{starred(word)}." in f".{name}" for word in how.keep)


def _awq(name: str, out: int, into: int, count: int, how: Quantization) -> list[Tensor]:
    lane, groups = 32 // (how.bits or 4), _groups(into, how)
    return [
        Tensor(f"{name}.qweight", "I32", (into, out // lane), count),
        Tensor(f"{name}.qzeros", "I32", (groups, out // lane), count),
        Tensor(f"{name}.scales", "F16", (groups, out), count),
    ]


def _gptq(name: str, out: int, into: int, count: int, how: Quantization) -> list[Tensor]:
    lane, groups = 32 // (how.bits or 4), _groups(into, how)
    return [
        Tensor(f"{name}.qweight", "I32", (into // lane, out), count),
        Tensor(f"{name}.qzeros", "I32", (groups, out // lane), count),
        Tensor(f"{name}.scales", "F16", (groups, out), count),
        Tensor(f"{name}.g_idx", "I32", (into,), count),
    ]


def _fp8(name: str, out: int, into: int, count: int, how: Quantization) -> list[Tensor]:
    """One scale a block; without blocks one for the whole tensor."""
    high, wide = how.block if len(how.block) == 2 else (out, into)
    return [
        Tensor(f"{name}.weight", "F8_E4M3", (out, into), count),
        Tensor(f"{name}.weight_scale_inv", "F32", (-(-out // high), -(-into // wide)), count),
    ]


def _groups(into: int, how: Quantization) -> int:
    return -(-into // (how.group or into))


PACKINGS: dict[str, Packing] = {"awq": _awq, "gptq": _gptq, "fp8": _fp8}
