"""config.json as one value: one name for each number, whatever its family calls it. Pure.

Files on the hub leave out what equals their class's default, nest the language model under `text_config` when there is
a vision tower, and have changed names over the years. All of that ends here; nothing later asks the raw file, except
for the few fields that one family alone has, through `number`, `flag` and `text`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kit.errors import ModelFilesError, Problem
from kit.facts.defaults import DEFAULTS

ALIASES = {
    "hidden_size": ("n_embd", "d_model"),
    "num_hidden_layers": ("n_layer", "n_layers", "num_layers"),
    "num_attention_heads": ("n_head", "n_heads"),
    "num_key_value_heads": ("num_kv_heads", "n_head_kv", "multi_query_group_num"),
    "intermediate_size": ("ffn_dim", "n_inner", "ffn_hidden_size", "block_ff_dim"),
    "num_experts": ("num_local_experts",),
    "num_local_experts": ("num_experts",),
    "max_position_embeddings": ("n_positions", "max_seq_len", "seq_length", "max_sequence_length", "model_max_length"),
}

# Positions of these start behind the padding token, so the last `pad_token_id + 1` of them cannot be used.
OFFSET_POSITIONS = {"roberta", "xlm-roberta", "camembert"}
# RoPE scalings whose max_position_embeddings is the scaled length already (vLLM config/model.py).
SCALED_ALREADY = {"default", "su", "longrope", "llama3", "yarn", "deepseek_yarn", "proportional"}


@dataclass(frozen=True)
class Quantization:
    """`method` as vLLM names it; `bits` and `group` of the weights; `keep` are the modules left as they were."""

    method: str
    bits: int = 0
    group: int = 0
    keep: tuple[str, ...] = ()
    block: tuple[int, ...] = ()
    ordered: bool = False


@dataclass(frozen=True)
class Config:
    """The numbers every model has. `max_position` is the longest context the engine takes, `positions` what the file
    says; `dtype` is None when the file is silent. `fields` and `outer` are the raw language part and the whole file."""

    source: str
    architecture: str
    model_type: str
    hidden: int
    intermediate: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab: int
    positions: int
    max_position: int
    dtype: str | None
    tied: bool
    quantization: Quantization | None
    fields: Mapping[str, object]
    outer: Mapping[str, object]

    def number(self, name: str, default: int | None = None) -> int:
        """The whole number called `name`, or an alias. ModelFilesError when it is no number, or missing, no default."""
        return number(self.source, self.fields, name, default)

    def flag(self, name: str, default: bool = False) -> bool:
        """The truth of `name`; null counts as absent."""
        value = self.fields.get(name)
        return default if value is None else bool(value)

    def factor(self, name: str, default: float = 1.0) -> float:
        """The number called `name`, whole or not."""
        value = self.fields.get(name)
        return float(value) if isinstance(value, int | float) else default

    def strings(self, name: str) -> tuple[str, ...]:
        """The list of words called `name`, () when absent."""
        value = self.fields.get(name)
        return tuple(str(item) for item in value) if isinstance(value, list | tuple) else ()

    def sub(self, name: str) -> Mapping[str, object]:
        """The object called `name`, of the language part or else of the whole file; {} when absent."""
        return mapping(self.fields.get(name)) or mapping(self.outer.get(name))


def parse(source: str, raw: Mapping[str, object], max_seq_length: int | None = None) -> Config:
    """config.json of `source` -> Config. `max_seq_length` is what sentence-transformers wrote beside it.

    Raises ModelFilesError for a missing or wrong number, and for what no task of the manifest can serve."""
    nested = mapping(raw.get("text_config")) or mapping(raw.get("llm_config")) or raw
    model_type = str(nested.get("model_type") or raw.get("model_type") or "")
    fields = {**DEFAULTS.get(model_type, {}), **{name: value for name, value in nested.items() if value is not None}}
    architecture = _architecture(source, raw)
    if raw.get("is_encoder_decoder"):
        raise unusable(
            source, f"{architecture} is an encoder-decoder", "the tasks are generate, embed, rerank and classify"
        )
    hidden = number(source, fields, "hidden_size")
    heads = number(source, fields, "num_attention_heads")
    positions = number(source, fields, "max_position_embeddings", 2048)
    return Config(
        source=source,
        architecture=architecture,
        model_type=model_type,
        hidden=hidden,
        intermediate=number(source, fields, "intermediate_size", 4 * hidden),
        layers=number(source, fields, "num_hidden_layers"),
        heads=heads,
        kv_heads=number(source, fields, "num_key_value_heads", heads),
        head_dim=number(source, fields, "head_dim", hidden // heads) or hidden // heads,
        vocab=number(source, fields, "vocab_size"),
        positions=positions,
        max_position=max_seq_length or _longest(source, model_type, fields, positions),
        dtype=_dtype(raw, nested),
        tied=bool(_first("tie_word_embeddings", nested, raw, fields)),
        quantization=_quantization(source, raw, nested),
        fields=fields,
        outer=raw,
    )


def unusable(source: str, what: str, needed: str = "", hint: str = "") -> ModelFilesError:
    """The error of this stage, naming the model first."""
    return ModelFilesError(Problem(f"{source}: {what}", needed, hint))


def mapping(value: object) -> Mapping[str, object]:
    """`value` when it is an object, else {}."""
    return value if isinstance(value, Mapping) else {}


def number(source: str, fields: Mapping[str, object], name: str, default: int | None = None) -> int:
    """A whole, non-negative number from `fields`, by its name or an alias."""
    value = next((fields[key] for key in (name, *ALIASES.get(name, ())) if fields.get(key) is not None), default)
    if value is None:
        raise unusable(
            source, f"config.json has no {name}", "it does not describe a model that the kit knows how to size"
        )
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    least = 1 if name == "num_attention_heads" else 0
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise unusable(source, f"config.json says {name}: {value!r}", f"a whole number, {least} or more")
    return value


def scaling(fields: Mapping[str, object]) -> Mapping[str, object]:
    """How RoPE is stretched: `rope_parameters` of new files, `rope_scaling` of old ones; {} when it is not. Where each
    kind of layer has its own, that of full attention."""
    found = mapping(fields.get("rope_parameters")) or mapping(fields.get("rope_scaling"))
    return mapping(found.get("full_attention")) or found


def scaling_kind(found: Mapping[str, object]) -> str:
    """`linear`, `dynamic`, `yarn`, ... or `default`; `mrope` was once a kind of its own."""
    kind = str(found.get("rope_type") or found.get("type") or "default")
    return "default" if kind == "mrope" else kind


def _architecture(source: str, raw: Mapping[str, object]) -> str:
    named = raw.get("architectures")
    if not isinstance(named, list) or not named or not isinstance(named[0], str):
        raise unusable(
            source, "config.json names no architecture", 'a line such as "architectures": ["LlamaForCausalLM"]'
        )
    return named[0]


def _longest(source: str, model_type: str, fields: Mapping[str, object], positions: int) -> int:
    """As vLLM derives max_model_len: the file's positions, times a RoPE factor that they do not include yet."""
    if model_type in OFFSET_POSITIONS:
        return positions - number(source, fields, "pad_token_id") - 1
    found = scaling(fields)
    factor = found.get("factor")
    if scaling_kind(found) in SCALED_ALREADY or model_type.startswith("gemma3") or not isinstance(factor, int | float):
        return positions
    return int(positions * factor)


def _dtype(raw: Mapping[str, object], nested: Mapping[str, object]) -> str | None:
    value = next((part[key] for part in (raw, nested) for key in ("dtype", "torch_dtype") if part.get(key)), None)
    name = str(value).removeprefix("torch.")
    return None if value is None or name == "auto" else {"half": "float16", "float": "float32"}.get(name, name)


def _first(name: str, *places: Mapping[str, object]) -> object:
    return next((place[name] for place in places if place.get(name) is not None), None)


def _quantization(source: str, raw: Mapping[str, object], nested: Mapping[str, object]) -> Quantization | None:
    found = mapping(_first("quantization_config", raw, nested) or _first("compression_config", raw, nested))
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
        ordered=bool(found.get("desc_act")),
    )


def _method(found: Mapping[str, object]) -> str:
    """quant_method, or what ModelOpt's own file (hf_quant_config.json) means by quant_algo."""
    algorithm = str(mapping(found.get("quantization")).get("quant_algo") or found.get("quant_algo") or "").upper()
    if algorithm.startswith("NVFP4"):
        return "modelopt_fp4"
    if algorithm and mapping(found.get("producer")).get("name") == "modelopt":
        return "modelopt"
    return str(found.get("quant_method") or "unknown").lower().replace("_tensors", "-tensors")
