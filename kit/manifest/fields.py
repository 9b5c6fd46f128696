"""The types of the manifest's values: how they are read, checked, and described to editors; and sources of models."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StrictFloat, StrictInt
from pydantic import WithJsonSchema as Json

from kit.errors import quoted
from kit.manifest import managed_args, validators
from kit.manifest.validators import Refused


class ManifestPart(BaseModel):
    """A part of the manifest: frozen, without unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=False)


Task = Literal["generate", "embed", "rerank", "classify", "infer"]
Engine = Literal["vllm", "ollama", "triton"]


def _text(pattern: str, **more: Any) -> Json:
    return Json({"type": "string", "pattern": pattern, **more})


def _any_of(*schemas: dict[str, Any]) -> Json:
    return Json({"anyOf": list(schemas)})


_AUTO = {"const": "auto"}
_SIZE = {"type": "string", "pattern": r"^\s*[0-9]+(\.[0-9]+)?\s*([KMGTkmgt][iI]?)?[bB]?\s*$"}
_COUNT = {"type": "string", "pattern": r"^\s*[0-9]+(\.[0-9]+)?\s*[kKmM]?\s*$"}
_WHOLE = {"type": "integer", "minimum": 0}

Bytes = Annotated[int, BeforeValidator(validators.memory), _any_of(_WHOLE, _SIZE)]
Reserve = Annotated[int, BeforeValidator(validators.reserve), _any_of(_WHOLE, _SIZE)]
Footprint = Annotated[int | Literal["auto"], BeforeValidator(validators.memory_or_auto), _any_of(_AUTO, _WHOLE, _SIZE)]
Count = Annotated[int | Literal["auto"], BeforeValidator(validators.count_or_auto), _any_of(_AUTO, _WHOLE, _COUNT)]
Weight = Annotated[StrictFloat, Field(ge=0.001, le=1000)]
Port = Annotated[StrictInt, Field(ge=1, le=65535)]
Replicas = Annotated[StrictInt, Field(ge=1, le=64)]

Name = Annotated[
    str, AfterValidator(validators.name), _text("^[a-z]([a-z0-9-]*[a-z0-9])?$", maxLength=validators.NAME_LENGTH)
]
Project = Annotated[
    str, AfterValidator(validators.project), _text("^[a-z0-9][a-z0-9_-]*$", maxLength=validators.NAME_LENGTH)
]
Device = Annotated[str, BeforeValidator(validators.device), Json({"type": ["string", "integer"]})]
Address = Annotated[
    str, AfterValidator(validators.bind), Json({"type": "string", "anyOf": [{"format": "ipv4"}, {"format": "ipv6"}]})
]
Parser = Annotated[str, AfterValidator(validators.parser), _text("^[A-Za-z0-9][A-Za-z0-9_.-]*$", maxLength=64)]
Variable = Annotated[str, AfterValidator(validators.variable_name), _text("^[A-Z_][A-Z0-9_]*$")]
KeyFile = Annotated[str, AfterValidator(validators.key_file), _text("^(\\.{1,2}/|/|~/)[^$:]+$")]
Image = Annotated[str, AfterValidator(validators.image)]
Volume = Annotated[str, AfterValidator(managed_args.volume)]
# Numbers stay as they are written: see parse._readable.
Text = Annotated[str, Json({"type": ["string", "number"]})]


# From smg 1.13 --help and vllm-router 0.1.17 --help. Left out: vllm-router's kv_aware, which needs workers that publish
# every change of their caches.
POLICIES = {
    "smg": (
        "round_robin", "random", "power_of_two", "least_load", "cache_aware", "prefix_hash",
        "consistent_hashing", "manual", "passthrough",
    ),
    "vllm-router": (
        "round_robin", "random", "power_of_two", "cache_aware", "consistent_hash", "sticky_least_loaded",
    ),
}  # fmt: skip


# https://huggingface.co/docs/huggingface_hub: letters, digits, - _ . but not at the ends, no -- and no ..
_PART = r"[A-Za-z0-9](?:[A-Za-z0-9_]|[-.](?=[A-Za-z0-9_]))*"
_HUB = re.compile(rf"({_PART}/{_PART})(?:@([A-Za-z0-9][A-Za-z0-9._/-]*))?")
_URL = re.compile(r"(?:https?://)?(?:hf\.co|huggingface\.co)/([^/\s]+/[^/\s@?#]+).*|hf://([^/\s]+/[^/\s]+)")
_NEEDED = "needed: a Hugging Face id such as Qwen/Qwen2.5-0.5B-Instruct, or a folder that begins with ./ or / or ~"


@dataclass(frozen=True)
class Source:
    """`place` is a folder as written, or a repository owner/name on the Hub at `revision` (None: its newest)."""

    kind: Literal["folder", "hub"]
    place: str
    revision: str | None = None


def parse_source(text: str) -> Source:
    """`./folder`, `/folder`, `~/folder`; else `owner/name` or `owner/name@revision`. Raises Refused."""
    if text.startswith((".", "/", "~")):
        return _folder(text)
    match = _HUB.fullmatch(text)
    if match and len(match.group(1)) <= 96:
        return Source("hub", match.group(1), match.group(2))
    raise Refused(f"{quoted(text)} is not a source", _NEEDED, _hint(text))


def _folder(text: str) -> Source:
    if text.startswith(("./", "../", "/", "~/")) or text in (".", "..", "~"):
        return Source("folder", text)
    raise Refused(f"{quoted(text)} is not a source", "needed: a folder that begins with ./ or ../ or / or ~/")


def _hint(text: str) -> str:
    url = _URL.fullmatch(text)
    if url:
        return f"did you mean {url.group(1) or url.group(2)}?"
    if "\\" in text or text.count("/") > 1 or ("/" in text and text.endswith("/")):
        return f"a folder is written ./{text}" if "\\" not in text else "a folder is written with /"
    return f"an id has its owner: OWNER/{text}" if re.fullmatch(_PART, text) else ""
