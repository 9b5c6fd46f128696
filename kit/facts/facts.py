"""The facts of a model: its config.json and the headers of its safetensors. Pure; `hub.py` reads the files.

Tensors are kept grouped: the layer number in a name becomes `*`, equal tensors are counted. So the facts of a 7B model
are a dozen lines that a person can read in a recorded facts.json, and still exact to the byte.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from kit.errors import ModelFilesError
from kit.facts.attention import Attention, attention, rope_elements, rotary_dim
from kit.facts.config_fields import FieldError, unusable
from kit.facts.config_json import Config, parse
from kit.facts.families.decoders import FAMILIES
from kit.facts.lora_adapter import AdapterFacts, adapter_from_config
from kit.facts.multimodal import Encoder, encoder
from kit.facts.quantization import stored
from kit.facts.tensors import DTYPE_BYTES, STORED, Header, Tensor, common_dtype, grouped, loaded

__all__ = [
    "DTYPE_BYTES", "AdapterFacts", "Attention", "Facts", "Header", "Tensor", "adapter_from_config", "from_config",
    "kv_bytes_per_token", "served_dtype",
]  # fmt: skip

# Architectures that overflow in float16, so that vLLM refuses it (config/model.py, _FLOAT16_NOT_SUPPORTED_MODELS).
# Families that are sized by their headers, besides those that can be counted.
SIZED = (
    "FalconForCausalLM", "Gemma4ForCausalLM", "Gemma4ForConditionalGeneration", "GptOssForCausalLM",
    "GraniteMoeHybridForCausalLM", "Lfm2ForCausalLM", "MiniCPM3ForCausalLM", "Mistral3ForConditionalGeneration",
    "Olmo3ForCausalLM", "Qwen3NextForCausalLM", "Qwen3VLForConditionalGeneration", "Qwen3_5ForConditionalGeneration",
    "Qwen3_5MoeForConditionalGeneration",
)  # fmt: skip
NO_FLOAT16 = ("Gemma2", "Gemma3", "Glm4")


@dataclass(frozen=True)
class Facts:
    """One model. Sizes count elements; `dtype` is what the engine will serve it in (bfloat16, float16, float32),
    `stored_dtype` what config.json says; `max_position` is the longest context the engine takes; `rope_elements` counts
    the cos/sin tables on the card; `experts` are those of one layer; `from_headers` is False where the tensors are
    counted from config.json; `unpacked` are the parameters that a quantised file stores packed, 0 where unknown;
    `yarn_position` is `max_position` for versions that stretch YaRN's original length, 0 where it is the same;
    `kv_dtype` is the type of the KV cache that the checkpoint asks for, "" for none; `encoder` is that of
    its images; `tool_template` says whether the chat template lays out tools, None where its text was not read."""

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
    stored_dtype: str = ""
    rope_elements: int = 0
    experts: int = 0
    unpacked: int = 0
    yarn_position: int = 0
    kv_dtype: str = ""
    encoder: Encoder | None = None
    tool_template: bool | None = None

    @property
    def parameters(self) -> int:
        """All parameters, tied heads counted once. Where packed formats keep several in one element and the family is
        not counted, the elements as stored."""
        return self.unpacked or sum(t.parameters * t.count for t in self.tensors)

    @property
    def items(self) -> tuple[tuple[str, int], ...]:
        """(kind, tokens) of the largest image, video and audio that a batch must take whole."""
        return self.encoder.whole if self.encoder else ()

    @property
    def checkpoint_bytes(self) -> int:
        """What the files hold, tied heads counted once."""
        return sum(t.bytes * t.count for t in self.tensors)


def from_config(
    source: str,
    revision: str | None,
    config: Mapping[str, object],
    headers: Header | None = None,
    chat_template: bool | None = None,
    max_seq_length: int | None = None,
    tool_template: bool | None = None,
) -> Facts:
    """config.json, the headers of all weight files where there are weights, and the length that
    sentence_bert_config.json says -> Facts. With headers the tensors of any architecture are exact; without, they are
    counted for the families of families/. Raises ModelFilesError where what is needed is missing, or not known."""
    c, kinds = _parsed(source, config, max_seq_length)
    kept_in = c.dtype or common_dtype(headers or {}) or "float32"
    experts = c.number("num_experts_per_tok", c.number("top_k_experts", c.number("moe_topk", 0)))
    return Facts(
        source=source,
        revision=revision,
        architecture=c.architecture,
        hidden=c.hidden,
        intermediate=c.intermediate,
        layers=c.layers,
        heads=c.heads,
        kv_heads=c.kv_heads,
        head_dim=c.head_dim,
        vocab=c.vocab,
        max_position=c.max_position,
        dtype=served_dtype(kept_in, None, architecture=c.architecture),
        tied=c.tied,
        attention=kinds,
        tensors=_read(c, headers) if headers else _counted(c, kept_in),
        rotary_dim=rotary_dim(c),
        quantization=c.quantization.method if c.quantization else None,
        experts_per_token=experts,
        expert_intermediate=c.number("moe_intermediate_size", c.intermediate) if experts else 0,
        from_headers=bool(headers),
        chat_template=chat_template,
        stored_dtype=kept_in,
        rope_elements=rope_elements(c),
        experts=c.number("num_experts", c.number("n_routed_experts", 0)),
        unpacked=_unpacked(c),
        yarn_position=c.yarn_position,
        encoder=encoder(c),
        kv_dtype=c.quantization.kv_dtype if c.quantization else "",
        tool_template=tool_template,
    )


def _parsed(
    source: str, config: Mapping[str, object], max_seq_length: int | None
) -> tuple[Config, tuple[Attention, ...]]:
    try:
        c = parse(source, config, max_seq_length)
        return c, attention(c)
    except FieldError:
        raise _as_family(source, config) from None


def _as_family(source: str, config: Mapping[str, object]) -> ModelFilesError:
    """A field that is missing is the file's fault where the family is known, and the kit's where it is not."""
    named = config.get("architectures")
    family = str(named[0]) if isinstance(named, list) and named else ""
    if not family or family in FAMILIES or family in SIZED:
        try:
            attention(parse(source, config))
        except ModelFilesError as error:
            return error
    return unusable(source, f"{family}: the kit cannot size it yet", "another model, or another engine with memory:")


def served_dtype(
    stored_as: str, compute_capability: str | None, *, pooling: bool = False, architecture: str = ""
) -> str:
    """What `--dtype auto` serves a checkpoint in: float32 as bfloat16 (float16 for pooling), bfloat16 as float16 on
    cards before compute capability 8.0, and never float16 where the architecture overflows in it. Without a capability
    the card is taken for 8.0 or newer. Source: vLLM config/model.py, _resolve_auto_dtype."""
    able = [
        name
        for name in ("bfloat16", "float16", "float32")
        if name != "float16" or not architecture.startswith(NO_FLOAT16)
    ]
    if compute_capability is not None and float(compute_capability) < 8:
        able.remove("bfloat16")
    preferred = "float16" if pooling and "float16" in able else able[0]
    return stored_as if stored_as in able and stored_as != "float32" else preferred


def kv_bytes_per_token(facts: Facts, kv_dtype_bytes: int = 2) -> int:
    """KV cache of one token over all layers that keep tokens, windows not saved: layers x kv_heads x (k + v) x bytes;
    one latent a layer for MLA, nothing for states and encoders."""
    per_element = sum(
        group.layers * group.kv_heads * (group.head_dim_k + group.head_dim_v)
        for group in facts.attention
        if group.kind != "linear"
    )
    return per_element * kv_dtype_bytes


def _unpacked(c: Config) -> int:
    """Parameters of a quantised model by its family's count; 0 when nothing is packed or the family is not counted."""
    family = FAMILIES.get(c.architecture)
    if c.quantization is None or family is None:
        return 0
    try:
        return sum(prod(row.shape) * row.count for row in family(c))
    except ModelFilesError:
        return 0


def _read(c: Config, headers: Header) -> tuple[Tensor, ...]:
    """The tensors that the engine loads."""
    return grouped(c.source, loaded(headers, c.layers, c.number("num_nextn_predict_layers", 0)), c.tied)


def _counted(c: Config, kept_in: str) -> tuple[Tensor, ...]:
    """The tensors without weights. float8 and the like in `dtype` say nothing of norms, which stay in 16 bits."""
    family = FAMILIES.get(c.architecture)
    if family is None:
        needed = "the weights' headers are needed: a folder or a repository with safetensors files"
        raise unusable(c.source, f"{c.architecture} cannot be counted from config.json", needed)
    return stored(c.source, family(c), STORED.get(kept_in, "BF16"), c.quantization)
