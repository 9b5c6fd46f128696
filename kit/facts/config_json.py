"""config.json as one value: one name for each number, whatever its family calls it. Pure.

Files on the hub leave out what equals their class's default, nest the language model under `text_config` when there is
a vision tower, and have changed names over the years. All of that ends here; nothing later asks the raw file, except
for the few fields that one family alone has, through `number`, `flag` and `text`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kit.facts.config_fields import DEFAULTS, first_of, mapping, number, unusable
from kit.facts.quantization import Quantization, quantization

# Positions of these start behind the padding token, so the last `pad_token_id + 1` of them cannot be used.
OFFSET_POSITIONS = {"roberta", "xlm-roberta", "camembert"}
# Model types of which `multi_query` means one KV head (vLLM transformers_utils/model_arch_config_convertor.py).
MULTI_QUERY = {"falcon", "RefinedWeb", "RefinedWebModel", "gpt_bigcode"}
# RoPE scalings whose max_position_embeddings is the scaled length already (vLLM config/model.py).
SCALED_ALREADY = {"default", "su", "longrope", "llama3", "yarn", "deepseek_yarn", "proportional"}


@dataclass(frozen=True)
class Config:
    """The numbers every model has. `max_position` is the longest context the engine takes, `yarn_position` what
    versions make of it that stretch YaRN's original length (0 where that is the same), `positions` what the file says;
    `dtype` is None when the file is silent. `fields` and `outer` are the raw language part and the whole file."""

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
    yarn_position: int
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
    nested = language_part(raw)
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
        kv_heads=_kv_heads(source, model_type, fields, heads),
        head_dim=number(source, fields, "head_dim", hidden // heads) or hidden // heads,
        vocab=number(source, fields, "vocab_size"),
        positions=positions,
        max_position=max_seq_length or _longest(source, model_type, fields, positions),
        yarn_position=0 if max_seq_length else _stretched(fields),
        dtype=_dtype(raw, nested),
        tied=bool(first_of("tie_word_embeddings", nested, raw, fields)),
        quantization=quantization(source, raw, nested),
        fields=fields,
        outer=raw,
    )


def language_part(raw: Mapping[str, object]) -> Mapping[str, object]:
    """The language model's own part of a config.json, wherever vLLM looks for it; the whole file for a model that has
    no other part."""
    thinker = mapping(raw.get("thinker_config"))
    places = (raw.get("text_config"), raw.get("llm_config"), raw.get("language_config"), thinker.get("text_config"))
    return next((mapping(place) for place in places if mapping(place)), raw)


def _kv_heads(source: str, model_type: str, fields: Mapping[str, object], heads: int) -> int:
    """As vLLM counts them: one of old multi-query models, which may name another number beside it."""
    if model_type in MULTI_QUERY and fields.get("multi_query") and not fields.get("new_decoder_architecture"):
        return 1
    return number(source, {**mapping(fields.get("attn_config")), **fields}, "num_key_value_heads", heads)


def _stretched(fields: Mapping[str, object]) -> int:
    found = scaling(fields)
    known, factor = found.get("original_max_position_embeddings"), found.get("factor")
    if scaling_kind(found) == "yarn" and isinstance(known, int) and isinstance(factor, int | float):
        return int(known * factor)
    return 0


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
