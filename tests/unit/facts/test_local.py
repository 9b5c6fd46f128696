"""A folder is read without its weights, and what is broken in it is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kit.errors import ModelFilesError
from kit.facts.local import no_model, read_folder, read_header
from tests.support.modelfiles import TINY, safetensors, tiny_files, tiny_shapes


def write(folder: Path, files: dict[str, bytes]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, body in files.items():
        (folder / name).write_bytes(body)
    return folder


def refusal(folder: Path) -> str:
    with pytest.raises(ModelFilesError) as caught:
        read_folder("./m", folder)
    assert str(caught.value).startswith("./m: ")
    return str(caught.value)


def test_a_folder_gives_its_config_its_headers_and_its_chat_template(tmp_path: Path) -> None:
    files = read_folder("./m", write(tmp_path, tiny_files()))
    assert files.config() == TINY
    assert files.headers == tiny_shapes()
    assert files.chat_template() is True
    assert files.max_seq_length() is None
    assert files.unreadable() == ""


def test_shards_are_read_as_one_and_consolidated_weights_are_not_read_again(tmp_path: Path) -> None:
    shapes = list(tiny_shapes().items())
    parts = {
        "model-00001-of-00002.safetensors": safetensors(dict(shapes[:5])),
        "model-00002-of-00002.safetensors": safetensors(dict(shapes[5:])),
        "consolidated.safetensors": safetensors({"tok_embeddings.weight": ("BF16", (300, 64))}),
    }
    assert read_folder("./m", write(tmp_path, parts)).headers == dict(shapes)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, None),
        ({"tokenizer_config.json": b"{}"}, False),
        ({"tokenizer_config.json": b'{"chat_template": "{{ x }}"}'}, True),
        ({"tokenizer_config.json": b"{}", "chat_template.jinja": b"{{ x }}"}, True),
        ({"chat_template.json": b"{}"}, True),
    ],
)
def test_a_chat_template_is_known_absent_or_unknown(
    tmp_path: Path, files: dict[str, bytes], expected: bool | None
) -> None:
    assert read_folder("./m", write(tmp_path, files)).chat_template() is expected


def test_small_files_beside_config_count(tmp_path: Path) -> None:
    modelopt = json.dumps({"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "FP8"}}).encode()
    beside = {"sentence_bert_config.json": b'{"max_seq_length": 128}', "hf_quant_config.json": modelopt}
    files = read_folder("./m", write(tmp_path, tiny_files() | beside))
    assert files.max_seq_length() == 128
    assert files.config()["quantization_config"] == json.loads(modelopt)


def test_a_folder_without_weights_has_no_headers(tmp_path: Path) -> None:
    files = read_folder("./m", write(tmp_path, {"config.json": b"{}", "pytorch_model.bin": b"x"}))
    assert files.headers is None
    assert files.unreadable() == "there are only .bin files"


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert f"the folder {tmp_path / 'none'} does not exist" in refusal(tmp_path / "none")
    (tmp_path / "file").write_text("")
    assert "is a file" in refusal(tmp_path / "file")


def test_broken_json_is_refused_at_its_place(tmp_path: Path) -> None:
    assert "config.json:2:9: Expecting value" in refusal(write(tmp_path, {"config.json": b'{\n  "a" : }'}))
    assert "config.json is not a JSON object" in refusal(write(tmp_path, {"config.json": b"[]"}))
    assert "config.json is not JSON" in refusal(write(tmp_path, {"config.json": b"\xff\xfe\xfa"}))
    assert "config.json is not JSON" in refusal(write(tmp_path, {"config.json": b"[" * 100_000}))


def test_a_missing_shard_is_named(tmp_path: Path) -> None:
    said = refusal(write(tmp_path, {"model-00001-of-00002.safetensors": safetensors(tiny_shapes())}))
    assert "model-00002-of-00002.safetensors missing; download the model again" in said


WHOLE = safetensors(tiny_shapes())


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "its header is missing or cut off"),
        (WHOLE[:6], "its header is missing or cut off"),
        (WHOLE[:400], "its header is missing or cut off"),
        (WHOLE[:-10], "it ends 10 bytes early"),
        (b"\xff" * 64, "its header is missing or cut off"),
        ((3).to_bytes(8, "little") + b"{]}", "model.safetensors:1:2"),
        ((2).to_bytes(8, "little") + b"[]", "model.safetensors is not a JSON object"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n", "is a Git LFS pointer"),
    ],
)
def test_a_broken_weight_file_is_named_with_how_it_is_broken(tmp_path: Path, body: bytes, said: str) -> None:
    message = refusal(write(tmp_path, {"model.safetensors": body}))
    assert said in message
    assert "model.safetensors" in message


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"dtype": "BF16", "shape": [2, 2], "data_offsets": [0, 9]}, "w is BF16[2, 2] in 9 bytes"),
        ({"dtype": "BF16", "shape": [2, -2], "data_offsets": [0, 8]}, "does not describe w"),
        ({"dtype": "BF16", "shape": [2, 2]}, "does not describe w"),
        ({"dtype": 3, "shape": [2], "data_offsets": [0, 4]}, "does not describe w"),
        ("odd", "does not describe w"),
    ],
)
def test_a_header_that_contradicts_itself_is_refused(tmp_path: Path, entry: object, said: str) -> None:
    text = json.dumps({"w": entry}).encode()
    path = tmp_path / "model.safetensors"
    path.write_bytes(len(text).to_bytes(8, "little") + text + bytes(16))
    with pytest.raises(ModelFilesError) as caught:
        read_header("./m", path)
    assert said in str(caught.value)


def test_weights_are_not_read(tmp_path: Path) -> None:
    """A sparse file of 8 GiB is read at once, because only its header is."""
    shape = {"w": ("BF16", (2**16, 2**16))}
    text = json.dumps({"w": {"dtype": "BF16", "shape": [2**16, 2**16], "data_offsets": [0, 2**33]}}).encode()
    path = tmp_path / "model.safetensors"
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + 2**33)
    assert read_header("./m", path) == shape


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["model-Q4_K_M.gguf"], "only GGUF files there; vLLM takes safetensors"),
        (["adapter_config.json"], "this is a LoRA adapter, not a model"),
        (["params.json", "consolidated.00.pth"], "only the original weights there"),
        (["README.md"], "no config.json there"),
    ],
)
def test_a_place_that_is_no_model_says_what_it_is(names: list[str], said: str) -> None:
    assert said in str(no_model("org/x", names))
