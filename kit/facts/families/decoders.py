"""The tensors of a model without its weights: counted from config.json, family by family. Pure.

A family is a function from Config to rows, written with a few bricks; one literal dict names them. Names and shapes are
those the files have on the hub, so that fusing and rounding them later is the same with weights and without. What a
dict does not name is not guessed: the weights' own headers say it exactly, for any architecture.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kit.facts.config_json import Config
from kit.facts.families.encoders import (
    bert,
    bert_classifier,
    gte,
    gte_tokens,
    labels,
    nomic_bert,
    qwen2_5_vl_tower,
    roberta_classifier,
    siglip_tower,
)  # fmt: skip
from kit.facts.tensors import (
    TensorRow,
    each,
    linear,
    table,
    vector,
)

LAYER = "model.layers.*"


def embedding(c: Config) -> list[TensorRow]:
    return [TensorRow("model.embed_tokens.weight", (c.vocab, c.hidden))]


def head(c: Config) -> list[TensorRow]:
    """The final norm, and the head unless it is the embedding again."""
    rows = vector("model.norm.weight", c.hidden)
    return rows if c.tied else [*rows, TensorRow("lm_head.weight", (c.vocab, c.hidden))]


def self_attention(c: Config, qkv_bias: bool, o_bias: bool, qk_norm: bool) -> list[TensorRow]:
    """q, k, v and o, and a norm of head_dim for q and for k where the family has them."""
    place, wide = f"{LAYER}.self_attn", c.heads * c.head_dim
    narrow = c.kv_heads * c.head_dim
    normed = ("q_norm", "k_norm") if qk_norm else ()
    return [
        *linear(f"{place}.q_proj", wide, c.hidden, c.layers, qkv_bias),
        *each(("k_proj", "v_proj"), lambda name: linear(f"{place}.{name}", narrow, c.hidden, c.layers, qkv_bias)),
        *linear(f"{place}.o_proj", c.hidden, wide, c.layers, o_bias),
        *each(normed, lambda name: vector(f"{place}.{name}.weight", c.head_dim, c.layers)),
    ]


def gated_mlp(c: Config, place: str, width: int, layers: int, bias: bool = False) -> list[TensorRow]:
    """gate and up to `width`, and back down."""
    return [
        *linear(f"{place}.gate_proj", width, c.hidden, layers, bias),
        *linear(f"{place}.up_proj", width, c.hidden, layers, bias),
        *linear(f"{place}.down_proj", c.hidden, width, layers, bias),
    ]


def norms(c: Config, *names: str) -> list[TensorRow]:
    return [row for name in names for row in vector(f"{LAYER}.{name}.weight", c.hidden, c.layers)]


def decoder(
    c: Config, *, qkv_bias: bool | None = None, o_bias: bool | None = None, qk_norm: bool = False
) -> list[TensorRow]:
    """Llama, and what differs from it by biases and q/k norms only."""
    bias = c.flag("attention_bias")
    return [
        *embedding(c),
        *self_attention(c, bias if qkv_bias is None else qkv_bias, bias if o_bias is None else o_bias, qk_norm),
        *gated_mlp(c, f"{LAYER}.mlp", c.intermediate, c.layers, c.flag("mlp_bias")),
        *norms(c, "input_layernorm", "post_attention_layernorm"),
        *head(c),
    ]


qwen2 = partial(decoder, qkv_bias=True, o_bias=False)
qwen3 = partial(decoder, qk_norm=True)


def scored(body: Callable[[Config], list[TensorRow]], c: Config) -> list[TensorRow]:
    """A decoder whose head is a score for each label."""
    kept = [row for row in body(c) if row.name != "lm_head.weight"]
    return [*kept, TensorRow("score.weight", (labels(c), c.hidden))]


def phi3(c: Config) -> list[TensorRow]:
    """q, k and v in one tensor, gate and up in one."""
    return [
        *embedding(c),
        *linear(f"{LAYER}.self_attn.qkv_proj", (c.heads + 2 * c.kv_heads) * c.head_dim, c.hidden, c.layers),
        *linear(f"{LAYER}.self_attn.o_proj", c.hidden, c.heads * c.head_dim, c.layers),
        *linear(f"{LAYER}.mlp.gate_up_proj", 2 * c.intermediate, c.hidden, c.layers),
        *linear(f"{LAYER}.mlp.down_proj", c.hidden, c.intermediate, c.layers),
        *norms(c, "input_layernorm", "post_attention_layernorm"),
        *head(c),
    ]


def gemma2(c: Config, qk_norm: bool = False) -> list[TensorRow]:
    """Norms before and after both halves of a layer."""
    return [*decoder(c, qk_norm=qk_norm), *norms(c, "pre_feedforward_layernorm", "post_feedforward_layernorm")]


gemma3 = partial(gemma2, qk_norm=True)


def gemma3_vision(c: Config) -> list[TensorRow]:
    return [*siglip_tower(c), *(row.under("language_model.") for row in gemma3(c))]


def qwen2_5_vl(c: Config) -> list[TensorRow]:
    return [*qwen2_5_vl_tower(c), *qwen2(c)]


def qwen3_moe(c: Config) -> list[TensorRow]:
    """Experts in every `decoder_sparse_step`th layer, except those of `mlp_only_layers`."""
    step = c.number("decoder_sparse_step", 1)
    alone = set(c.strings("mlp_only_layers"))
    sparse = sum(1 for i in range(c.layers) if str(i) not in alone and (i + 1) % step == 0)
    experts, width = c.number("num_experts"), c.number("moe_intermediate_size")
    return [
        *embedding(c),
        *self_attention(c, c.flag("attention_bias"), c.flag("attention_bias"), qk_norm=True),
        *gated_mlp(c, f"{LAYER}.mlp", c.intermediate, c.layers - sparse),
        *linear(f"{LAYER}.mlp.gate", experts, c.hidden, sparse, packed=False),
        *gated_mlp(c, f"{LAYER}.mlp.experts.*", width, sparse * experts),
        *norms(c, "input_layernorm", "post_attention_layernorm"),
        *head(c),
    ]


def mixtral(c: Config) -> list[TensorRow]:
    experts, place = c.number("num_local_experts"), f"{LAYER}.block_sparse_moe"
    return [
        *embedding(c),
        *self_attention(c, False, False, False),
        *linear(f"{place}.gate", experts, c.hidden, c.layers, packed=False),
        *linear(f"{place}.experts.*.w1", c.intermediate, c.hidden, c.layers * experts),
        *linear(f"{place}.experts.*.w2", c.hidden, c.intermediate, c.layers * experts),
        *linear(f"{place}.experts.*.w3", c.intermediate, c.hidden, c.layers * experts),
        *norms(c, "input_layernorm", "post_attention_layernorm"),
        *head(c),
    ]


def deepseek_v2(c: Config) -> list[TensorRow]:
    """Latent attention; the first `first_k_dense_replace` layers dense, the others routed and shared experts."""
    dense = min(c.number("first_k_dense_replace", 0), c.layers)
    sparse, width = c.layers - dense, c.number("moe_intermediate_size")
    routed, shared = c.number("n_routed_experts"), c.number("n_shared_experts", 0)
    return [
        *embedding(c),
        *latent_attention(c),
        *gated_mlp(c, f"{LAYER}.mlp", c.intermediate, dense),
        *linear(f"{LAYER}.mlp.gate", routed, c.hidden, sparse, packed=False),
        *gated_mlp(c, f"{LAYER}.mlp.experts.*", width, sparse * routed),
        *gated_mlp(c, f"{LAYER}.mlp.shared_experts", width * shared, sparse if shared else 0),
        *norms(c, "input_layernorm", "post_attention_layernorm"),
        *head(c),
    ]


def latent_attention(c: Config) -> list[TensorRow]:
    """MLA: keys and values pass a latent of kv_lora_rank, queries one of q_lora_rank where the file names it."""
    place, rank, query = f"{LAYER}.self_attn", c.number("kv_lora_rank"), c.number("q_lora_rank", 0)
    nope, rope, v = c.number("qk_nope_head_dim"), c.number("qk_rope_head_dim"), c.number("v_head_dim")
    queries = [*linear(f"{place}.q_proj", c.heads * (nope + rope), c.hidden, c.layers)]
    if query:
        queries = [
            *linear(f"{place}.q_a_proj", query, c.hidden, c.layers),
            *vector(f"{place}.q_a_layernorm.weight", query, c.layers),
            *linear(f"{place}.q_b_proj", c.heads * (nope + rope), query, c.layers),
        ]
    return [
        *queries,
        *linear(f"{place}.kv_a_proj_with_mqa", rank + rope, c.hidden, c.layers),
        *vector(f"{place}.kv_a_layernorm.weight", rank, c.layers),
        *linear(f"{place}.kv_b_proj", c.heads * (nope + v), rank, c.layers),
        *linear(f"{place}.o_proj", c.hidden, c.heads * v, c.layers),
    ]


def opt(c: Config) -> list[TensorRow]:
    """Learnt positions, two of them spare; biases everywhere."""
    model, place, width = "model.decoder", "model.decoder.layers.*", c.number("word_embed_proj_dim", c.hidden)
    square = ("k_proj", "v_proj", "q_proj", "out_proj")
    last = vector(f"{model}.final_layer_norm", c.hidden, bias=True)
    projected = [
        *linear(f"{model}.project_in", c.hidden, width, 1),
        *linear(f"{model}.project_out", width, c.hidden, 1),
    ]
    return [
        *table(f"{model}.embed_tokens", c.vocab, width),
        *table(f"{model}.embed_positions", c.positions + 2, c.hidden),
        *(projected if width != c.hidden else ()),
        *each(square, lambda name: linear(f"{place}.self_attn.{name}", c.hidden, c.hidden, c.layers, bias=True)),
        *linear(f"{place}.fc1", c.intermediate, c.hidden, c.layers, bias=True),
        *linear(f"{place}.fc2", c.hidden, c.intermediate, c.layers, bias=True),
        *vector(f"{place}.self_attn_layer_norm", c.hidden, c.layers, bias=True),
        *vector(f"{place}.final_layer_norm", c.hidden, c.layers, bias=True),
        *(last if c.flag("do_layer_norm_before", True) else ()),
    ]


FAMILIES: dict[str, Callable[[Config], list[TensorRow]]] = {
    "LlamaForCausalLM": decoder,
    "MistralForCausalLM": partial(decoder, qkv_bias=False, o_bias=False),
    "SmolLM3ForCausalLM": decoder,
    "GraniteForCausalLM": decoder,
    "Qwen2ForCausalLM": qwen2,
    "Qwen2ForSequenceClassification": partial(scored, qwen2),
    "Qwen2_5_VLForConditionalGeneration": qwen2_5_vl,
    "Qwen3ForCausalLM": qwen3,
    "Qwen3ForSequenceClassification": partial(scored, qwen3),
    "Qwen3MoeForCausalLM": qwen3_moe,
    "MixtralForCausalLM": mixtral,
    "Phi3ForCausalLM": phi3,
    "GemmaForCausalLM": decoder,
    "Gemma2ForCausalLM": gemma2,
    "Gemma3ForCausalLM": gemma3,
    "Gemma3ForConditionalGeneration": gemma3_vision,
    "DeepseekV2ForCausalLM": deepseek_v2,
    "OPTForCausalLM": opt,
    "BertModel": bert,
    "BertForSequenceClassification": bert_classifier,
    "RobertaModel": bert,
    "XLMRobertaModel": bert,
    "RobertaForSequenceClassification": roberta_classifier,
    "XLMRobertaForSequenceClassification": roberta_classifier,
    "NomicBertModel": nomic_bert,
    "NewModel": gte,
    "NewForTokenClassification": gte_tokens,
}
