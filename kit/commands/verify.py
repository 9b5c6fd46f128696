"""`verify`: ask what runs whether it does what was promised."""

from __future__ import annotations

from pathlib import Path

from kit.output.console import Output
from kit.project.verify import check


def run(output: Output, file: Path, url: str | None) -> int:
    code, report = check(output, file, url)
    if output.as_json:
        output.json(report)
    return code
