"""`schema`: the manifest's JSON Schema."""

from __future__ import annotations

from kit.manifest.model import schema
from kit.output.console import Output


def run(output: Output) -> int:
    output.json(schema())
    return 0
