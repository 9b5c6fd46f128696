"""`python3 -m pretend MODEL --flags`: `vllm serve`, pretended."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import NoReturn

from .argv import Args, parse_args
from .engine import Engine
from .errors import StartError
from .faults import due, parse_fault
from .launch import launch
from .log import Log, say_failure
from .server import Server
from .settings import read_settings

SETTLE_SECONDS = 2.0


def main(words: Sequence[str], env: Mapping[str, str]) -> int:
    """The exit code: 0 stopped in order (and after the engine died), 1 the start failed, 130 stopped while starting."""
    args = parse_args(words)
    settings = read_settings(env)
    api, core = Log("APIServer", os.getpid()), Log("EngineCore", os.getpid())
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        fault = due(parse_fault(settings.fault), settings.fault_once)
        server = Server(args.host or "0.0.0.0", args.port)
        engine = launch(args, settings, fault, api, core)
        _serve(server, engine, args, api)
    except StartError as error:
        say_failure(error, core, api)
        return 1
    except KeyboardInterrupt:
        api.raw("KeyboardInterrupt: terminated", sys.stderr)
        return 130
    return 0


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt("terminated")


def _serve(server: Server, engine: Engine, args: Args, api: Log) -> None:
    """Answers until a signal, or the engine's death."""
    asked = threading.Event()
    engine.on_death = asked.set
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: asked.set())
    api.info("api_server.py:677", f"Starting vLLM server on http://{args.host or '0.0.0.0'}:{server.server_port}")
    server.open(engine)
    api.info("launcher.py:38", "Available routes are:")
    for path, methods in server.routes.items():
        api.info("launcher.py:46", f"Route: {path}, Methods: {', '.join(methods)}")
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    for line in (f"Started server process [{os.getpid()}]", "Waiting for application startup.",
                 "Application startup complete."):  # fmt: skip
        api.raw(f"INFO:     {line}")
    asked.wait()
    _stop(server, engine, args, api)


def _stop(server: Server, engine: Engine, args: Args, api: Log) -> None:
    """vLLM aborts what is under way, unless --shutdown-timeout (or PRETEND_STOP) gives it time to end."""
    limit = engine.settings.stop_seconds
    grace = 0.0 if engine.dead else float(args.shutdown_timeout) if limit is None else limit
    mode = "drain" if grace else "abort"
    api.info("launcher.py:102", "[shutdown] API server: shutdown triggered")
    api.info("launcher.py:116", f"[shutdown] API server: stopping engine client mode={mode} timeout={grace:g}s")
    server.shutdown()
    server.server_close()
    server.settle(grace)
    engine.stopping.set()
    server.settle(SETTLE_SECONDS)
    for line in ("Shutting down", "Waiting for application shutdown.", "Application shutdown complete.",
                 f"Finished server process [{os.getpid()}]"):  # fmt: skip
        api.raw(f"INFO:     {line}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
