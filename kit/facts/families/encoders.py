"""Tensors of encoders, counted from config.json: BERT and RoBERTa, Nomic BERT, GTE. Pure."""

from __future__ import annotations

from kit.facts.config_json import Config, unusable
from kit.facts.families.rows import Row, linear, table, vector


def labels(c: Config) -> int:
    """How many classes a head tells apart; transformers assumes two."""
    return len(c.sub("id2label")) or c.number("num_labels", 2)


def bert_body(c: Config) -> list[Row]:
    """Word, position and type embeddings; layers with biases everywhere."""
    place = "encoder.layer.*"
    rows = table("embeddings.word_embeddings", c.vocab, c.hidden)
    rows += table("embeddings.position_embeddings", c.positions, c.hidden)
    rows += table("embeddings.token_type_embeddings", c.number("type_vocab_size", 2), c.hidden)
    rows += vector("embeddings.LayerNorm", c.hidden, bias=True)
    for name in ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"):
        rows += linear(f"{place}.{name}", c.hidden, c.hidden, c.layers, bias=True)
    rows += linear(f"{place}.intermediate.dense", c.intermediate, c.hidden, c.layers, bias=True)
    rows += linear(f"{place}.output.dense", c.hidden, c.intermediate, c.layers, bias=True)
    for name in ("attention.output.LayerNorm", "output.LayerNorm"):
        rows += vector(f"{place}.{name}", c.hidden, c.layers, bias=True)
    return rows


def bert(c: Config) -> list[Row]:
    return [*bert_body(c), *linear("pooler.dense", c.hidden, c.hidden, 1, bias=True)]


def bert_classifier(c: Config) -> list[Row]:
    return [*(row.under("bert.") for row in bert(c)), *linear("classifier", labels(c), c.hidden, 1, bias=True)]


def roberta_classifier(c: Config) -> list[Row]:
    """No pooler; the head has a layer of its own before the scores."""
    return [
        *(row.under("roberta.") for row in bert_body(c)),
        *linear("classifier.dense", c.hidden, c.hidden, 1, bias=True),
        *linear("classifier.out_proj", labels(c), c.hidden, 1, bias=True),
    ]


def nomic_bert(c: Config) -> list[Row]:
    """Rotary positions, gated MLP, no biases; the variant with experts is left to its headers."""
    if c.number("num_experts", 0):
        raise unusable(c.source, "Nomic BERT with experts", "the weights' headers are needed to count its tensors")
    place = "encoder.layers.*"
    rows = table("embeddings.word_embeddings", c.vocab, c.hidden)
    rows += table("embeddings.token_type_embeddings", c.number("type_vocab_size", 2), c.hidden)
    rows += vector("emb_ln", c.hidden, bias=True)
    rows += linear(f"{place}.attn.Wqkv", 3 * c.hidden, c.hidden, c.layers, c.flag("qkv_proj_bias"))
    rows += linear(f"{place}.attn.out_proj", c.hidden, c.hidden, c.layers, c.flag("qkv_proj_bias"))
    for name in ("fc11", "fc12"):
        rows += linear(f"{place}.mlp.{name}", c.intermediate, c.hidden, c.layers, c.flag("mlp_fc1_bias"))
    rows += linear(f"{place}.mlp.fc2", c.hidden, c.intermediate, c.layers, c.flag("mlp_fc2_bias"))
    for name in ("norm1", "norm2"):
        rows += vector(f"{place}.{name}", c.hidden, c.layers, bias=True)
    return rows


def gte(c: Config) -> list[Row]:
    """Rotary positions; gate and up in one tensor without a bias, all else with one."""
    place = "encoder.layer.*"
    rows = table("embeddings.word_embeddings", c.vocab, c.hidden)
    if c.number("type_vocab_size", 0):
        rows += table("embeddings.token_type_embeddings", c.number("type_vocab_size"), c.hidden)
    rows += vector("embeddings.LayerNorm", c.hidden, bias=True)
    rows += linear(f"{place}.attention.qkv_proj", 3 * c.hidden, c.hidden, c.layers, bias=True)
    rows += linear(f"{place}.attention.o_proj", c.hidden, c.hidden, c.layers, bias=True)
    rows += linear(f"{place}.mlp.up_gate_proj", 2 * c.intermediate, c.hidden, c.layers)
    rows += linear(f"{place}.mlp.down_proj", c.hidden, c.intermediate, c.layers, bias=True)
    for name in ("attn_ln", "mlp_ln"):
        rows += vector(f"{place}.{name}", c.hidden, c.layers, bias=True)
    return rows


def gte_tokens(c: Config) -> list[Row]:
    return [*(row.under("new.") for row in gte(c)), *linear("classifier", labels(c), c.hidden, 1, bias=True)]
