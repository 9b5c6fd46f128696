"""The pretend card from the command line.

python3 -m pretend.smi PATH                     prints gpu.json, as the driver would answer now
python3 -m pretend.smi create PATH BYTES        lays down a card of BYTES
python3 -m pretend.smi hold PATH BYTES NAME     a process called NAME holds BYTES until it is killed
python3 -m pretend.smi foreign PATH BYTES NAME  bytes that no process here holds; 0 gives them back
"""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from .ledger import Card, CardFullError, Holder, as_gpu_json, create, foreign, read

FOREIGN_PID = 999


def main(words: Sequence[str]) -> int:
    match list(words):
        case [path]:
            print(json.dumps(as_gpu_json(read(Path(path))), indent=2))
        case ["create", path, count]:
            create(Path(path), Card(total_bytes=int(count)))
        case ["foreign", path, count, name]:
            foreign(Path(path), FOREIGN_PID, name, int(count))
        case ["hold", path, count, name]:
            return _hold(Path(path), int(count), name)
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


def _hold(path: Path, count: int, name: str) -> int:
    holder = Holder(path, name)
    try:
        holder.take("held", count)
    except CardFullError as full:
        print(f"out of memory: {full.free} bytes free", file=sys.stderr)
        return 1
    print("held", flush=True)
    signal.pause()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
