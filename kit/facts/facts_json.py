"""facts.json beside a manifest, so that a plan needs neither network nor weights.

    {"version": 1,
     "Qwen/Qwen3-8B": {"source": "Qwen/Qwen3-8B", ..., "tensors": ["36 x BF16[4096, 4096] model.layers.*...", ...]},
     "./adapters/code": {"source": "./adapters/code", ..., "rank": 32}}

The keys are the sources in the manifest. Defaults are left out, and equal tensors are one line of text.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Discriminator, Tag, TypeAdapter

from kit.errors import ModelFilesError
from kit.facts.facts import AdapterFacts, Facts
from kit.files import parse_versioned, read_text, versioned_json

AGAIN = "record the facts again, or remove the file"


def _kind(entry: object) -> str:
    """An adapter has a rank, a model has none."""
    has_rank = "rank" in entry if isinstance(entry, dict) else isinstance(entry, AdapterFacts)
    return "adapter" if has_rank else "model"


_ENTRY = Annotated[
    Annotated[Facts, Tag("model")] | Annotated[AdapterFacts, Tag("adapter")],
    Discriminator(_kind),
]
_FILE: TypeAdapter[dict[str, Facts | AdapterFacts]] = TypeAdapter(dict[str, _ENTRY])


def read_recorded(path: Path) -> dict[str, Facts]:
    """The models of a facts.json, {} when there is none. Raises ModelFilesError at the line that is wrong."""
    return {source: facts for source, facts in _read(path).items() if isinstance(facts, Facts)}


def read_recorded_adapters(path: Path) -> dict[str, AdapterFacts]:
    """The adapters of a facts.json, {} when there is none. Raises ModelFilesError at the line that is wrong."""
    return {source: facts for source, facts in _read(path).items() if isinstance(facts, AdapterFacts)}


def record(models: Mapping[str, Facts], adapters: Mapping[str, AdapterFacts] | None = None) -> str:
    """The text of a facts.json, sorted by source."""
    entries: dict[str, Facts | AdapterFacts] = {**models, **(adapters or {})}
    return versioned_json(_FILE, dict(sorted(entries.items())), exclude_defaults=True)


def parse(text: str, file: str) -> dict[str, Facts | AdapterFacts]:
    """The facts that `record` wrote. Raises ModelFilesError."""
    return parse_versioned(_FILE, text, file, AGAIN, ModelFilesError)


def _read(path: Path) -> dict[str, Facts | AdapterFacts]:
    text = read_text(path, AGAIN, ModelFilesError)
    return {} if text is None else parse(text, str(path))
