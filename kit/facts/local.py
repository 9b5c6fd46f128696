"""A model's folder on disk: its small JSON files and the headers of its safetensors. Weights are never read."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import BinaryIO, TypeGuard

from kit.errors import ModelFilesError
from kit.facts.config_fields import mapping, unusable
from kit.facts.tensors import DTYPE_BYTES, Header, missing_shards, weight_files

# The limit of the safetensors library itself.
TEMPLATE = "chat_template.jinja"
HEADER_LIMIT = 100_000_000
SMALL_LIMIT = 50_000_000

# What vLLM looks for beside config.json.
ASKED = (
    "config.json",
    "tokenizer_config.json",
    "sentence_bert_config.json",
    "hf_quant_config.json",
    "adapter_config.json",
)


@dataclass(frozen=True)
class ModelFolder:
    """What a place holds: the names of its files, those of `ASKED` it has, the headers of its weights, and
    the text of chat_template.jinja where it was read."""

    names: tuple[str, ...]
    small: Mapping[str, Mapping[str, object]]
    headers: Header | None
    template: str | None = None

    def config(self) -> dict[str, object]:
        """config.json, with the quantisation that ModelOpt keeps in a file of its own."""
        beside = self.small.get("hf_quant_config.json")
        return ({"quantization_config": beside} if beside else {}) | dict(self.small["config.json"])

    def chat_template(self) -> bool | None:
        """Whether the tokenizer can lay out a chat; None when there is no tokenizer to ask."""
        if any(name.startswith("chat_template.") for name in self.names):
            return True
        tokenizer = self.small.get("tokenizer_config.json")
        return None if tokenizer is None else bool(tokenizer.get("chat_template"))

    def tool_template(self) -> bool | None:
        """Whether the chat template lays out tools; None where its text is not known."""
        if TEMPLATE in self.names:
            return None if self.template is None else "tools" in self.template
        found = self.small.get("tokenizer_config.json", {}).get("chat_template")
        return "tools" in str(found) if found else None

    def max_seq_length(self) -> int | None:
        """The longest input that sentence-transformers wrote down, which vLLM keeps to."""
        length = self.small.get("sentence_bert_config.json", {}).get("max_seq_length")
        return length if isinstance(length, int) and length > 0 else None

    def beside(self) -> tuple[bool | None, int | None, bool | None]:
        """Whether there is a chat template, the longest input, and whether the template lays out tools."""
        return self.chat_template(), self.max_seq_length(), self.tool_template()

    def unreadable(self) -> str:
        """The kinds of weights there are where none can be read; "" otherwise."""
        kinds = [kind for kind in (".bin", ".pt", ".pth", ".gguf") if any(name.endswith(kind) for name in self.names)]
        return f"there are only {' and '.join(kinds)} files" if kinds and not self.headers else ""


def read_folder(source: str, place: Path, weights: Callable[[Sequence[str]], list[str]] = weight_files) -> ModelFolder:
    """What a folder holds; `weights` chooses the files whose headers are read. Raises ModelFilesError for a
    missing folder, broken JSON, a corrupt or truncated weight file, or a shard that is not there."""
    if not place.is_dir():
        what = "is a file" if place.exists() else "does not exist"
        raise unusable(source, f"the folder {place} {what}", "download the model there, or give its Hugging Face id")
    names = tuple(sorted(each.name for each in place.iterdir() if each.is_file()))
    small = {name: read_json(source, place / name) for name in ASKED if name in names}
    files = weights(names)
    whole(source, files)
    _links(source, place, files)
    header = {name: entry for file in files for name, entry in read_header(source, place / file).items()}
    template = (place / TEMPLATE).read_text(encoding="utf-8", errors="replace") if TEMPLATE in names else None
    return ModelFolder(names, small, header or None, template)


def _links(source: str, place: Path, files: Sequence[str]) -> None:
    """Raises ModelFilesError for weights that are links out of the folder, which a container does not see. A snapshot
    of the Hub's cache is mounted with the folder that its links lead to."""
    if place.parent.name == "snapshots" and place.parent.parent.name.startswith("models--"):
        return
    inside = place.resolve()
    out = next((name for name in files if inside not in (place / name).resolve().parents), None)
    if out:
        what = f"{out} is a link out of the folder, which the worker does not see"
        raise unusable(source, what, "give the folder with the files themselves, or copy them: cp -rL")


def whole(source: str, files: Sequence[str]) -> None:
    """Raises ModelFilesError when the names promise a shard that is not among them."""
    lost = missing_shards(files)
    if lost:
        raise unusable(source, f"{', '.join(lost[:3])} missing", "download the model again")


def read_json(source: str, path: Path) -> Mapping[str, object]:
    """One small JSON object. Raises ModelFilesError with the place where it breaks."""
    try:
        if path.stat().st_size > SMALL_LIMIT:
            raise unusable(source, f"{path.name} is larger than {SMALL_LIMIT} bytes", "not a file of a model")
        return parsed_json(source, path.name, path.read_bytes())
    except OSError as error:
        raise unusable(source, f"{path} cannot be read: {error.strerror}", "make it readable for you") from error


def parsed_json(source: str, name: str, text: bytes) -> Mapping[str, object]:
    """`text` of the file `name` as an object. Raises ModelFilesError."""
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        where = f"{name}:{error.lineno}:{error.colno}"
        raise unusable(source, f"{where}: {error.msg}", "download the file again") from error
    except (UnicodeDecodeError, RecursionError) as error:
        raise unusable(source, f"{name} is not JSON: {error}", "download the file again") from error
    if not isinstance(data, dict):
        raise unusable(source, f"{name} is not a JSON object", "download the file again")
    return data


def read_header(source: str, path: Path) -> Header:
    """The header of one safetensors file: 8 bytes of length, then JSON. Raises ModelFilesError."""
    try:
        with path.open("rb") as file:
            return _header(source, path.name, file, path.stat().st_size)
    except OSError as error:
        raise unusable(source, f"{path} cannot be read: {error.strerror}", "make it readable for you") from error


def _header(source: str, name: str, file: BinaryIO, size: int) -> Header:
    first = file.read(8)
    if first == b"version ":
        raise unusable(source, f"{name} is a Git LFS pointer, not the weights", "run `git lfs pull` in the folder")
    length = int.from_bytes(first, "little")
    if len(first) < 8 or length > size - 8 or length > HEADER_LIMIT:
        raise _corrupt(source, name, "its header is missing or cut off")
    raw = mapping(parsed_json(source, name, file.read(length)))
    entries = {tensor: _entry(source, name, tensor, entry) for tensor, entry in raw.items() if tensor != "__metadata__"}
    short = 8 + length + max((end for _, _, end in entries.values()), default=0) - size
    if short > 0:
        raise _corrupt(source, name, f"it ends {short} bytes early")
    return {tensor: (dtype, shape) for tensor, (dtype, shape, _) in entries.items()}


def _entry(source: str, name: str, tensor: str, entry: object) -> tuple[str, tuple[int, ...], int]:
    """One tensor's (dtype, shape, end of its bytes)."""
    said = mapping(entry)
    dtype, shape, offsets = said.get("dtype"), said.get("shape"), said.get("data_offsets")
    if not isinstance(dtype, str) or not _counts(shape) or not _counts(offsets) or len(offsets) != 2:
        raise _corrupt(source, name, f"its header does not describe {tensor}")
    size = offsets[1] - offsets[0]
    if dtype in DTYPE_BYTES and size != int(prod(shape) * DTYPE_BYTES[dtype]):
        raise _corrupt(source, name, f"{tensor} is {dtype}{shape} in {size} bytes")
    return dtype, tuple(shape), offsets[1]


def _counts(value: object) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(isinstance(item, int) and item >= 0 for item in value)


def _corrupt(source: str, name: str, how: str) -> ModelFilesError:
    return unusable(source, f"{name} is not a complete safetensors file: {how}", "download it again")


def no_model(text: str, names: Sequence[str]) -> ModelFilesError:
    """Why a place without config.json is no model for this engine."""
    if any(name.endswith(".gguf") for name in names):
        return unusable(text, "only GGUF files there", "vLLM takes safetensors: another repository, or another engine")
    if "adapter_config.json" in names:
        return unusable(text, "this is a LoRA adapter, not a model", "list it under `adapters` of its base model")
    if "params.json" in names:
        return unusable(text, "only the original weights there, without config.json", "the repository in hf format")
    return unusable(text, "no config.json there", "a model in the layout of transformers")
