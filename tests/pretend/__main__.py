"""`python3 -m pretend MODEL --flags`: `vllm serve`, pretended."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import NoReturn

from . import VERSION, admin, errors
from .argv import Args, parse_args
from .config import Config, resolve
from .engine import Engine
from .errors import StartError
from .faults import Fault, before_card, before_engine, due, parse_fault
from .footprint import footprint
from .host import host_memory, start_on_host
from .ledger import Card, Holder, ensure, read
from .log import Log, say_failure
from .models import Shape, read_shape
from .server import Server
from .settings import Settings, read_settings
from .start import Cache, Start
from .worker import start_on_card

ENGINE_NAME = "VLLM::EngineCore"
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
        engine = _start(args, settings, fault, api, core)
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


def _start(args: Args, settings: Settings, fault: Fault, api: Log, core: Log) -> Engine:
    """Reads the model, takes the card and brings the adapters in. Raises StartError."""
    api.info("api_utils.py:345", f"vLLM server version {VERSION}, serving model {args.model}")
    api.info("api_utils.py:273", f"non-default args: {dict(args.given)}")
    if error := before_engine(fault, args.model):
        raise error
    cpu = settings.device == "cpu"
    if not cpu and settings.ledger is None:
        raise errors.no_gpu()
    shape = read_shape(
        args.model, args.revision, args.dtype, args.load_format, settings.hf_home, settings.weights_bytes
    )
    card = _card(settings)
    config = resolve(args, shape, card.total_bytes if card else 0, cpu, settings.long_len_allowed)
    _say_config(api, shape, config)
    start = Start(args, settings, config, footprint(args, shape, config), fault, core)
    core.info("core.py:116", f"Initializing a V1 LLM engine (v{VERSION}) with config: model='{args.model}'")
    if error := before_card(fault):
        raise error
    engine = Engine(start, shape, _cache(start, settings, card), api)
    for one in args.loras:
        admin.check_adapter(engine, one)
        engine.adapters[one.name] = one
        api.info("serving.py:200", f"Loaded new LoRA adapter: name '{one.name}', path '{one.path}'")
    return engine


def _card(settings: Settings) -> Card | None:
    if settings.device == "cpu" or settings.ledger is None:
        return None
    fresh = Card() if settings.total_bytes is None else Card(total_bytes=settings.total_bytes)
    ensure(settings.ledger, fresh)
    return read(settings.ledger)


def _cache(start: Start, settings: Settings, card: Card | None) -> Cache:
    if card is None or settings.ledger is None:
        return start_on_host(start, *host_memory())
    return start_on_card(start, Holder(settings.ledger, ENGINE_NAME, settings.free_delay))


def _say_config(api: Log, shape: Shape, config: Config) -> None:
    api.info("model.py:600", f"Resolved architecture: {shape.architecture}")
    api.info("model.py:1890", f"Using max model len {config.max_model_len}")
    tokens = config.max_num_batched_tokens
    api.info("scheduler.py:248", f"Chunked prefill is enabled with max_num_batched_tokens={tokens}.")


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
