"""Tensors, grouped: the layer number in a name becomes `*`, equal tensors are counted. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from pydantic_core import CoreSchema, core_schema

from kit.facts.config_fields import unusable

DTYPE_BYTES = {
    "F64": 8, "F32": 4, "F16": 2, "BF16": 2, "F8_E4M3": 1, "F8_E5M2": 1, "F8_E8M0": 1, "F4": 0.5,
    "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "U64": 8, "U32": 4, "U16": 2, "BOOL": 1,
}  # fmt: skip

# The two spellings of one type: config.json's and safetensors'.
STORED = {"float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16"}

# Tables in some files that every loader computes itself.
COMPUTED = ("rotary_emb.inv_freq", "rotary_pos_emb.inv_freq", "position_ids")

Header = Mapping[str, tuple[str, tuple[int, ...]]]
"""What the headers say of every tensor: name -> (dtype, shape)."""


@dataclass(frozen=True)
class Tensor:
    """`count` equal tensors. `name` has `*` for the layer number; `dtype` as safetensors spells it (BF16, F32, I32).
    JSON files hold its text: `24 x BF16[896, 896] model.layers.*.self_attn.q_proj.weight`."""

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

    def __str__(self) -> str:
        return f"{self.count} x {self.dtype}{list(self.shape)} {self.name}"

    @classmethod
    def parse(cls, text: object) -> Tensor:
        """The tensor that `str` wrote. Raises ValueError."""
        match = re.fullmatch(r"(\d+) x (\w+)\[([\d, ]*)\] (.*)", text, re.DOTALL) if isinstance(text, str) else None
        if not match or match.group(2) not in DTYPE_BYTES:
            raise ValueError("must be like '24 x BF16[896, 896] model.layers.*.self_attn.q_proj.weight'")
        shape = tuple(int(part) for part in match.group(3).split(",") if part.strip())
        return cls(match.group(4), match.group(2), shape, int(match.group(1)))

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: object) -> CoreSchema:
        as_text = core_schema.to_string_ser_schema()
        return core_schema.no_info_plain_validator_function(cls.parse, serialization=as_text)


def grouped(source: str, header: Header, tied: bool) -> tuple[Tensor, ...]:
    """All tensors of the files, in the headers' order. A head that repeats the tied embedding is left out: the engine
    keeps one of them. Raises ModelFilesError for an unknown dtype."""
    kept = [
        Tensor(starred(name), dtype, shape)
        for name, (dtype, shape) in header.items()
        if not name.endswith(COMPUTED) and not (tied and name.endswith("lm_head.weight"))
    ]
    strange = next((tensor for tensor in kept if tensor.dtype not in DTYPE_BYTES), None)
    if strange:
        raise unusable(source, f"{strange.name} is stored as {strange.dtype}", f"one of {', '.join(DTYPE_BYTES)}")
    return counted(kept)


def loaded(header: Header, layers: int, drafts: int) -> Header:
    """What the engine loads of a file: not the heads that draft further tokens, which lie under mtp. (Qwen3.5), in
    `drafts` layers behind the last one (DeepSeek, GLM)."""
    return {name: entry for name, entry in header.items() if not _drafts(name, layers, drafts)}


def _drafts(name: str, layers: int, drafts: int) -> bool:
    match = re.match(r"(?:model\.|language_model\.)*layers\.(\d+)\.", name)
    return bool(re.match(r"(?:model\.)?(?:mtp|mtp_block|mtp_layers)\.", name)) or (
        match is not None and layers <= int(match.group(1)) < layers + drafts
    )


def counted(tensors: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """Equal tensors as one, with their count, in the place of the first."""
    totals: Counter[Tensor] = Counter()
    for tensor in tensors:
        totals[replace(tensor, count=1)] += tensor.count
    return tuple(replace(tensor, count=count) for tensor, count in totals.items())


def starred(name: str) -> str:
    """`model.layers.7.mlp.experts.3.up_proj.weight` -> `model.layers.*.mlp.experts.*.up_proj.weight`."""
    return re.sub(r"(?<![^.])\d+(?![^.])", "*", name)


def common_dtype(header: Header) -> str | None:
    """What a file without a dtype is taken for: the widest of its floating types, in config.json's words."""
    found = {dtype for dtype, _ in header.values()}
    if {"BF16", "F16"} <= found:
        return "float32"
    return next((name for name, stored in STORED.items() if stored in found), None)


def weight_files(names: Sequence[str]) -> list[str]:
    """Which of a model's files hold its weights. model*.safetensors where there are any: consolidated*.safetensors
    beside them are the same weights once more, in Mistral's own names."""
    files = sorted(
        name for name in names if name.endswith(".safetensors") and "/" not in name and not name.startswith("adapter_")
    )
    return (
        [name for name in files if name.startswith("model")]
        or [name for name in files if not name.startswith("consolidated")]
        or files
    )


def adapter_files(names: Sequence[str]) -> list[str]:
    """Which of an adapter's files holds its matrices, where it is one whose header can be read."""
    return [name for name in names if name == "adapter_model.safetensors"]


def missing_shards(files: Sequence[str]) -> list[str]:
    """`model-00002-of-00003.safetensors` and its like that the other names promise."""
    lost: list[str] = []
    for name in files:
        match = re.fullmatch(r"(.+)-(\d+)-of-(\d+)\.safetensors", name)
        if match:
            stem, digits, total = match.group(1), len(match.group(2)), match.group(3)
            wanted = [f"{stem}-{i:0{digits}d}-of-{total}.safetensors" for i in range(1, int(total) + 1)]
            lost += [shard for shard in wanted if shard not in files and shard not in lost]
    return lost


# ---- rows: tensors of a model that are counted from its config.json


@dataclass(frozen=True)
class TensorRow:
    """`count` tensors of one name and shape; `packed` when a quantised file would store it packed."""

    name: str
    shape: tuple[int, ...]
    count: int = 1
    packed: bool = False

    def under(self, prefix: str) -> TensorRow:
        """The same, deeper in the model."""
        return replace(self, name=prefix + self.name)


def linear(name: str, out: int, into: int, count: int, bias: bool = False, packed: bool = True) -> list[TensorRow]:
    """`count` linear layers from `into` to `out`; [] for none."""
    rows = [TensorRow(f"{name}.weight", (out, into), count, packed), TensorRow(f"{name}.bias", (out,), count)]
    return rows[: 2 if bias else 1] if count else []


def vector(name: str, width: int, count: int = 1, bias: bool = False) -> list[TensorRow]:
    """`count` vectors called `name`, or with `bias` a layer norm's weight and bias below that name."""
    if bias:
        return [TensorRow(f"{name}.{part}", (width,), count) for part in ("weight", "bias")]
    return [TensorRow(name, (width,), count)]


def table(name: str, rows: int, width: int) -> list[TensorRow]:
    """One embedding."""
    return [TensorRow(f"{name}.weight", (rows, width))]


def each(names: Iterable[str], rows: Callable[[str], list[TensorRow]]) -> list[TensorRow]:
    """The rows of several names, one after another."""
    return [row for name in names for row in rows(name)]
