"""Headers become groups; which files count as weights."""

from __future__ import annotations

import pytest

from kit.errors import ModelFilesError
from kit.facts.tensors import Tensor, common_dtype, grouped, missing_shards, starred, weight_files


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("model.layers.7.self_attn.q_proj.weight", "model.layers.*.self_attn.q_proj.weight"),
        ("model.layers.10.mlp.experts.127.w1.weight", "model.layers.*.mlp.experts.*.w1.weight"),
        ("h.0.ln_1.weight", "h.*.ln_1.weight"),
        ("0.1.2", "*.*.*"),
        ("layer_norm1.weight", "layer_norm1.weight"),
    ],
)
def test_numbers_between_dots_become_stars(name: str, expected: str) -> None:
    assert starred(name) == expected


def test_equal_tensors_are_counted_and_different_ones_kept_apart() -> None:
    header = {
        "layers.0.w": ("BF16", (4, 4)),
        "layers.1.w": ("BF16", (4, 4)),
        "layers.2.w": ("F32", (4, 4)),
        "layers.3.w": ("BF16", (4, 8)),
    }
    assert grouped("m", header, tied=False) == (
        Tensor("layers.*.w", "BF16", (4, 4), 2),
        Tensor("layers.*.w", "F32", (4, 4)),
        Tensor("layers.*.w", "BF16", (4, 8)),
    )


def test_a_tied_head_that_the_file_repeats_is_counted_once() -> None:
    header = {"model.embed_tokens.weight": ("BF16", (10, 4)), "lm_head.weight": ("BF16", (10, 4))}
    assert [tensor.name for tensor in grouped("m", header, tied=True)] == ["model.embed_tokens.weight"]
    assert len(grouped("m", header, tied=False)) == 2


def test_tables_that_every_loader_makes_anew_are_left_out() -> None:
    header = {"a.rotary_emb.inv_freq": ("F32", (64,)), "embeddings.position_ids": ("I64", (1, 512)), "w": ("F16", (2,))}
    assert [tensor.name for tensor in grouped("m", header, tied=False)] == ["w"]


def test_a_dtype_nobody_can_size_is_refused() -> None:
    with pytest.raises(ModelFilesError, match=r"m: w is stored as F6_E2M3; one of F64, F32"):
        grouped("m", {"w": ("F6_E2M3", (2,))}, tied=False)


def test_half_bytes_are_counted_in_whole() -> None:
    assert Tensor("w", "F4", (3, 2)).bytes == 3
    assert Tensor("scalar", "F32", ()).bytes == 4


@pytest.mark.parametrize(
    ("dtypes", "expected"),
    [(["BF16", "F32"], "float32"), (["BF16", "I32"], "bfloat16"), (["F16", "BF16"], "float32"), (["I8"], None)],
)
def test_a_silent_file_is_taken_for_the_widest_of_its_types(dtypes: list[str], expected: str | None) -> None:
    assert common_dtype({str(n): (dtype, (1,)) for n, dtype in enumerate(dtypes)}) == expected


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["consolidated.safetensors", "model.safetensors"], ["model.safetensors"]),
        (["consolidated.0.safetensors", "consolidated.1.safetensors"],
         ["consolidated.0.safetensors", "consolidated.1.safetensors"]),
        (["b.safetensors", "a.safetensors", "consolidated.safetensors"], ["a.safetensors", "b.safetensors"]),
        (["adapter_model.safetensors", "original/model.safetensors", "model.bin"], []),
        (["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors", "model.safetensors.index.json"],
         ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]),
    ],
)  # fmt: skip
def test_the_files_that_hold_the_weights_once(names: list[str], expected: list[str]) -> None:
    assert weight_files(names) == expected


def test_a_shard_that_the_others_promise_is_missed() -> None:
    assert missing_shards(["model-00001-of-00003.safetensors", "model-00003-of-00003.safetensors"]) == [
        "model-00002-of-00003.safetensors"
    ]
    assert missing_shards(["model.safetensors", "m-1-of-1.safetensors"]) == []
