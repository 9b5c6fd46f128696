"""Rows -> tensors, as a quantised file stores them. Pure.

Formats whose packing follows from config.json alone: AWQ and GPTQ (AutoAWQ, AutoGPTQ: several weights in one int32,
scales and zeros a group), and FP8 in blocks (Qwen, DeepSeek). The others need the weights' headers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from kit.facts.config_fields import first_of, mapping, number, unusable
from kit.facts.tensors import (
    Tensor,
    TensorRow,
    counted,
    starred,
)


@dataclass(frozen=True)
class Quantization:
    """`method` as vLLM names it; `bits` and `group` of the weights; `keep` are the modules left as they were;
    `kv_dtype` is what the KV cache becomes when no flag says otherwise."""

    method: str
    bits: int = 0
    group: int = 0
    keep: tuple[str, ...] = ()
    block: tuple[int, ...] = ()
    kv_dtype: str = ""


Packing = Callable[[str, int, int, int, Quantization], list[Tensor]]


def quantization(source: str, raw: Mapping[str, object], nested: Mapping[str, object]) -> Quantization | None:
    """What a config.json says of it; `nested` is its language part."""
    found = mapping(first_of("quantization_config", raw, nested) or first_of("compression_config", raw, nested))
    if not found:
        return None
    keep = found.get("modules_to_not_convert") or found.get("ignored_layers") or found.get("ignore")
    block = found.get("weight_block_size")
    return Quantization(
        method=_method(found),
        bits=number(source, found, "bits", number(source, found, "w_bit", 0)),
        group=number(source, found, "group_size", number(source, found, "q_group_size", 0))
        if found.get("group_size") != -1
        else 0,
        keep=tuple(str(item) for item in keep) if isinstance(keep, list) else (),
        block=tuple(block) if isinstance(block, list) else (),
        kv_dtype=_kv_dtype(found, _method(found)),
    )


def _method(found: Mapping[str, object]) -> str:
    """quant_method, or what ModelOpt's own file (hf_quant_config.json) means by quant_algo."""
    algorithm = str(mapping(found.get("quantization")).get("quant_algo") or found.get("quant_algo") or "").upper()
    if algorithm.startswith("NVFP4"):
        return "modelopt_fp4"
    if algorithm and mapping(found.get("producer")).get("name") == "modelopt":
        return "modelopt"
    return str(found.get("quant_method") or "unknown").lower().replace("_tensors", "-tensors")


def _kv_dtype(found: Mapping[str, object], method: str) -> str:
    """What --kv-cache-dtype auto becomes (vLLM utils/torch_utils.py, layers/attention/attention.py): fp8 or nvfp4 by
    ModelOpt's scheme or algorithm, fp8 by any scheme of compressed-tensors."""
    inner = mapping(found.get("quantization")) or found
    scheme = mapping(inner.get("kv_cache_scheme")) or mapping(found.get("kv_cache_scheme"))
    if method == "compressed-tensors":
        return "fp8" if scheme else ""
    if not method.startswith("modelopt"):
        return ""
    if scheme:
        bits = {8: "fp8", 4: "nvfp4"}.get(scheme.get("num_bits"))  # type: ignore[call-overload]
        return str(bits or "") if scheme.get("type") == "float" else ""
    named = str(first_of("kv_cache_scheme", inner, found) or first_of("kv_cache_quant_algo", inner, found) or "")
    return {"fp8": "fp8", "nvfp4": "nvfp4"}.get(named.lower(), "")


def stored(source: str, rows: Iterable[TensorRow], dtype: str, how: Quantization | None) -> tuple[Tensor, ...]:
    """`dtype` is safetensors' word for what is not quantised. Raises ModelFilesError when the packing is not known."""
    if how is not None and how.method not in PACKINGS:
        raise unusable(
            source,
            f"weights of kind {how.method} cannot be counted from config.json",
            "the weights' headers are needed",
        )
    return counted(tensor for row in rows if row.count for tensor in _tensors(row, dtype, how))


def _tensors(row: TensorRow, dtype: str, how: Quantization | None) -> Iterator[Tensor]:
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
