"""The types of the manifest's single words: what they are once read, how they are checked, and what editors accept."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, StrictFloat, StrictInt
from pydantic import WithJsonSchema as Json

from kit.manifest import managed_args, validators

Task = Literal["generate", "embed", "rerank", "classify", "infer"]
Engine = Literal["vllm", "ollama", "triton", "llamacpp"]


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
Variable = Annotated[str, AfterValidator(validators.variable_name), _text("^[A-Z_][A-Z0-9_]*$")]
KeyFile = Annotated[str, AfterValidator(validators.key_file), _text("^(\\.{1,2}/|/|~/)[^$:]+$")]
Image = Annotated[str, AfterValidator(validators.image)]
Volume = Annotated[str, AfterValidator(managed_args.volume)]
# Numbers are taken as they are written: see located.readable.
Text = Annotated[str, Json({"type": ["string", "number"]})]


# facts of smg 1.13 --help and vllm-router 0.1.17 --help. Left out: vllm-router's kv_aware, which wants workers that
# publish every change of their caches.
POLICIES = {
    "smg": (
        "round_robin", "random", "power_of_two", "least_load", "cache_aware", "prefix_hash",
        "consistent_hashing", "manual", "passthrough",
    ),
    "vllm-router": (
        "round_robin", "random", "power_of_two", "cache_aware", "consistent_hash", "sticky_least_loaded",
    ),
}  # fmt: skip
