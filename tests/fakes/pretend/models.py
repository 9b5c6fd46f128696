"""Which model was asked for: config.json and safetensors headers -> Shape.

A folder is read; a Hugging Face id is looked up in the hub's cache folder, then among the few ids known here (so that
the article's models start without their files). Anything else fails as vLLM does without a network.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .errors import hub_unreachable, no_config

_BYTES = {"float32": 4, "float": 4, "float16": 2, "half": 2, "bfloat16": 2}
_ENCODERS = ("Bert", "Roberta", "ModernBert", "NomicBert", "GteModel", "GteNew")


@dataclass(frozen=True)
class Shape:
    """What the weights' shapes say. `params_bytes` as stored; `stored` and `runtime` are bytes a number."""

    architecture: str
    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab: int
    positions: int
    stored: int
    runtime: int
    params_bytes: int
    encoder: bool = False
    chat_template: bool = True

    @property
    def weights_bytes(self) -> int:
        return self.params_bytes * self.runtime // self.stored


def _qwen2(layers: int, hidden: int, inner: int, heads: int, kv: int, tied: bool = True) -> dict[str, Any]:
    return _config("Qwen2ForCausalLM", layers, hidden, inner, heads, kv, 151936, 32768, tied)


def _llama(
    layers: int, hidden: int, inner: int, heads: int, kv: int, vocab: int, length: int, tied: bool
) -> dict[str, Any]:
    return _config("LlamaForCausalLM", layers, hidden, inner, heads, kv, vocab, length, tied)


def _config(
    arch: str, layers: int, hidden: int, inner: int, heads: int, kv: int, vocab: int, length: int, tied: bool
) -> dict[str, Any]:
    return {
        "architectures": [arch],
        "num_hidden_layers": layers,
        "hidden_size": hidden,
        "intermediate_size": inner,
        "num_attention_heads": heads,
        "num_key_value_heads": kv,
        "vocab_size": vocab,
        "max_position_embeddings": length,
        "tie_word_embeddings": tied,
        "torch_dtype": "bfloat16",
    }


KNOWN: dict[str, dict[str, Any]] = {
    "Qwen/Qwen2.5-0.5B-Instruct": _qwen2(24, 896, 4864, 14, 2),
    "Qwen/Qwen2.5-1.5B-Instruct": _qwen2(28, 1536, 8960, 12, 2),
    "Qwen/Qwen2.5-3B-Instruct": _qwen2(36, 2048, 11008, 16, 2),
    "Qwen/Qwen3-0.6B": {**_config("Qwen3ForCausalLM", 28, 1024, 3072, 16, 8, 151936, 40960, True), "head_dim": 128},
    "Qwen/Qwen2.5-7B-Instruct": _qwen2(28, 3584, 18944, 28, 4, tied=False),
    "HuggingFaceTB/SmolLM2-135M-Instruct": _llama(30, 576, 1536, 9, 3, 49152, 8192, True),
    "HuggingFaceTB/SmolLM2-360M-Instruct": _llama(32, 960, 2560, 15, 5, 49152, 8192, True),
    "HuggingFaceTB/SmolLM2-1.7B-Instruct": _llama(24, 2048, 8192, 32, 32, 49152, 8192, True),
    "meta-llama/Llama-3.2-1B-Instruct": _llama(16, 2048, 8192, 32, 8, 128256, 131072, True),
    "meta-llama/Llama-3.1-8B-Instruct": _llama(32, 4096, 14336, 32, 8, 128256, 131072, False),
    "mistralai/Mistral-7B-Instruct-v0.3": _config("MistralForCausalLM", 32, 4096, 14336, 32, 8, 32768, 32768, False),
    "microsoft/Phi-3-mini-4k-instruct": _config("Phi3ForCausalLM", 32, 3072, 8192, 32, 32, 32064, 4096, False),
    "BAAI/bge-m3": _config("XLMRobertaModel", 24, 1024, 4096, 16, 16, 250002, 8194, True),
    "BAAI/bge-reranker-v2-m3": _config(
        "XLMRobertaForSequenceClassification", 24, 1024, 4096, 16, 16, 250002, 8194, True
    ),
}


def count_params(config: Mapping[str, Any]) -> int:
    """Numbers in a decoder of the Llama family (or near it), from its config.json. Qwen2 has biases on q, k, v."""
    hidden, inner, vocab = config["hidden_size"], config["intermediate_size"], config["vocab_size"]
    heads = config["num_attention_heads"]
    head_dim = config.get("head_dim") or hidden // heads
    query, kv = heads * head_dim, (config.get("num_key_value_heads") or heads) * head_dim
    attention = 2 * hidden * query + 2 * hidden * kv
    if "Qwen2" in _architecture(config):
        attention += query + 2 * kv
    layer = attention + 3 * hidden * inner + 2 * hidden
    embeddings = vocab * hidden * (1 if config.get("tie_word_embeddings", False) else 2)
    return int(embeddings + config["num_hidden_layers"] * layer + hidden)


def _architecture(config: Mapping[str, Any]) -> str:
    return str((config.get("architectures") or ["UnknownForCausalLM"])[0])


def shape_of(config: Mapping[str, Any], dtype: str, stored_bytes: int | None) -> Shape:
    """`stored_bytes` None: there are no weights (dummy), so they are counted. float32 checkpoints run as bfloat16."""
    name = str(config.get("dtype") or config.get("torch_dtype") or "bfloat16")
    stored = _BYTES.get(name, 2)
    runtime = 2 if dtype == "auto" else _BYTES[dtype]
    heads = config["num_attention_heads"]
    architecture = _architecture(config)
    return Shape(
        architecture=architecture,
        layers=config["num_hidden_layers"],
        hidden=config["hidden_size"],
        intermediate=config["intermediate_size"],
        heads=heads,
        kv_heads=config.get("num_key_value_heads") or heads,
        head_dim=config.get("head_dim") or config["hidden_size"] // heads,
        vocab=config["vocab_size"],
        positions=config.get("max_position_embeddings", 2048),
        stored=stored,
        runtime=runtime if "quantization_config" not in config else stored,
        params_bytes=stored_bytes if stored_bytes is not None else count_params(config) * stored,
        encoder=architecture.startswith(_ENCODERS) or architecture.startswith("XLMRoberta"),
    )


def stored_bytes(folder: Path) -> int | None:
    """Tensor bytes in the folder's safetensors files: each file less its 8-byte length and its header."""
    files = sorted(folder.glob("*.safetensors"))
    return sum(_tensor_bytes(file) for file in files) if files else None


def _tensor_bytes(file: Path) -> int:
    with file.open("rb") as handle:
        header = int.from_bytes(handle.read(8), "little")
    return file.stat().st_size - 8 - header


def cached_folder(home: Path, model: str, revision: str | None) -> Path | None:
    """The snapshot of a Hugging Face id in the hub's cache, if it is there."""
    root = home / "hub" / f"models--{model.replace('/', '--')}"
    ref = root / "refs" / (revision or "main")
    commit = ref.read_text().strip() if ref.is_file() else revision
    folder = root / "snapshots" / commit if commit else None
    return folder if folder and (folder / "config.json").is_file() else None


def read_shape(
    model: str, revision: str | None, dtype: str, load_format: str, home: Path, weights: int | None
) -> Shape:
    """Raises StartError in the hub's words when the model is not to be had. `weights` replaces any model's bytes."""
    here = Path(model)
    folder = here if here.is_dir() else cached_folder(home, model, revision)
    if folder:
        shape = _from_folder(folder, dtype, load_format)
    elif model in KNOWN or weights is not None:
        shape = shape_of(KNOWN.get(model, KNOWN["Qwen/Qwen2.5-0.5B-Instruct"]), dtype, None)
    else:
        raise hub_unreachable(model)
    return shape if weights is None else replace(shape, params_bytes=weights * shape.stored // shape.runtime)


def _from_folder(folder: Path, dtype: str, load_format: str) -> Shape:
    file = folder / "config.json"
    if not file.is_file():
        raise no_config(str(folder))
    config = json.loads(file.read_text(encoding="utf-8"))
    shape = shape_of(config, dtype, None if load_format == "dummy" else stored_bytes(folder))
    return replace(shape, chat_template=_has_template(folder))


def _has_template(folder: Path) -> bool:
    """A folder without any tokenizer file is a test's stand-in and gets the benefit of the doubt."""
    if (folder / "chat_template.jinja").is_file() or not (folder / "tokenizer_config.json").is_file():
        return True
    return "chat_template" in json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
