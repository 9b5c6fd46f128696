"""vLLM's log lines: `(EngineCore pid=7) INFO 11-29 12:00:00 [gpu_worker.py:560] text`, tracebacks and access lines."""

from __future__ import annotations

import sys
import threading
import time
from dataclasses import dataclass, field
from typing import TextIO

from .errors import StartError

_SITE = "/usr/local/lib/python3.12/dist-packages/vllm"


@dataclass(frozen=True)
class Log:
    """One process's voice: APIServer or EngineCore. Lines are written whole, from any thread."""

    process: str
    pid: int
    lock: threading.Lock = field(default_factory=threading.Lock)

    def raw(self, text: str, out: TextIO | None = None) -> None:
        """`out` None is stdout, where vLLM logs; tracebacks nobody caught go to stderr."""
        target = out or sys.stdout
        with self.lock:
            target.write("".join(f"({self.process} pid={self.pid}) {line}\n" for line in text.split("\n")))
            target.flush()

    def info(self, where: str, text: str) -> None:
        self._line("INFO", where, text)

    def warning(self, where: str, text: str) -> None:
        self._line("WARNING", where, text)

    def error(self, where: str, text: str) -> None:
        self._line("ERROR", where, text)

    def _line(self, level: str, where: str, text: str) -> None:
        head = f"{level} {time.strftime('%m-%d %H:%M:%S')} [{where}] "
        self.raw("\n".join(head + line for line in text.split("\n")))


def traceback_text(error: StartError) -> str:
    """A traceback without source lines, ending where vLLM raises."""
    entry = "entrypoints/cli/serve.py:154:cmd" if error.side == "api" else "v1/engine/core.py:1304:run_engine_core"
    frames = [frame.split(":") for frame in (entry, *error.where.split("|"))]
    middle = "".join(f'  File "{_SITE}/{path}", line {at}, in {name}\n' for path, at, name in frames)
    return f"Traceback (most recent call last):\n{middle}{error.kind}: {error.text}"


def say_failure(error: StartError, engine: Log, api: Log) -> None:
    """What vLLM prints when a start fails: EngineCore's own traceback twice, then the API server's."""
    if error.side == "api":
        api.raw(traceback_text(error), sys.stderr)
        return
    engine.error("core.py:1330", "EngineCore failed to start.\n" + traceback_text(error))
    engine.raw("Process EngineCore:\n" + traceback_text(error), sys.stderr)
    text = "Engine core initialization failed. See root cause above. Failed core proc(s): {'EngineCore': 1}"
    above = StartError("RuntimeError", text, "v1/engine/utils.py:1272:wait_for_engine_startup", "api")
    api.raw(traceback_text(above), sys.stderr)
