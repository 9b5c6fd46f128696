"""YAML document -> Manifest. Every problem is reported at once, each at its line.

Single values are checked where their types are declared (fields, validators, managed_args, source), values against each
other in rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from kit.errors import KeyPath, ManifestError
from kit.manifest import rules, validators
from kit.manifest.locate import (
    located,
    readable,
    without_faults,
)
from kit.manifest.model import (
    Adapter,
    GpuConfig,
    Manifest,
    Model,
    RouterConfig,
)
from kit.manifest.pydantic_errors import Words, refusals
from kit.manifest.refused import Refused
from kit.manifest.rules import EngineRules
from kit.manifest.yaml_document import Document

_KEYS: Words = {
    (): tuple(Manifest.model_fields),
    ("gpu",): tuple(GpuConfig.model_fields),
    ("router",): tuple(RouterConfig.model_fields),
    ("models",): tuple(Model.model_fields),
    ("models", "adapters"): tuple(Adapter.model_fields),
}


def parse(document: Document, engines: Mapping[str, EngineRules], default_name: str = "monogpu") -> Manifest:
    """The manifest that `document` holds, as these `engines` can serve it. Without `name` it is called `default_name`,
    the folder's, made a valid one.

    Raises ManifestError with everything that is wrong, the document's own problems included, in the file's order."""
    data = readable(document, {"name": validators.project_of(default_name)})
    manifest, found = _validated(data)
    if found:
        manifest, _ = _validated(without_faults(data, [path for path, _ in found]))
    if manifest:
        found += rules.broken(manifest, engines)
    problems = located(document, found)
    if problems or not manifest:
        raise ManifestError(problems)
    return manifest


def _validated(data: Any) -> tuple[Manifest | None, list[tuple[KeyPath, Refused]]]:
    try:
        return Manifest.model_validate(data), []
    except ValidationError as error:
        return None, refusals(error, _KEYS)
