"""`gpu`: record the card."""

from __future__ import annotations

import json
from pathlib import Path

from kit.gpu import ask_driver, to_json
from kit.output.console import Output
from kit.project.files import write_atomically


def run(output: Output, device: str, out: Path | None) -> int:
    text = json.dumps(to_json(ask_driver(device)), indent=2) + "\n"
    if out is None:
        output.out.write(text)
        return 0
    write_atomically(out, text)
    output.print(f"wrote {out}")
    return 0
