"""`gpu`: record the card."""

from __future__ import annotations

from pathlib import Path

from kit.gpu import ask_driver, record
from kit.output.console import Output


def run(output: Output, device: str, out: Path | None) -> int:
    output.save(record(ask_driver(device)), out)
    return 0
