"""`gpu`: record the card."""

from __future__ import annotations

from pathlib import Path

from kit.gpu import ask_driver, to_json
from kit.output.console import Output, json_text


def run(output: Output, device: str, out: Path | None) -> int:
    output.save(json_text(to_json(ask_driver(device))), out)
    return 0
