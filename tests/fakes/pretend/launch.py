"""From flags and settings to a started engine: reads the model, takes the card, brings the adapters in."""

from __future__ import annotations

import time

from . import VERSION, admin, errors, mps
from .argv import Args
from .config import Config, resolve
from .engine import Engine
from .faults import Fault, before_card, before_engine
from .footprint import footprint
from .host import host_memory, start_on_host
from .ledger import Card, Holder, ensure, read
from .log import Log
from .models import Shape, read_shape
from .settings import Settings
from .start import Cache, Start
from .worker import start_on_card

ENGINE_NAME = "VLLM::EngineCore"
MPS_ENDED = "CUDA error: remote procedural call between the MPS server and the MPS client failed"


def launch(args: Args, settings: Settings, fault: Fault, api: Log, core: Log) -> Engine:
    """Raises StartError where vLLM gives up; what it took of the card stays taken as long as this process lives."""
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
    time.sleep(settings.import_seconds)
    link = mps.join(settings.mps, settings.shm, args.served[0]) if card else None
    engine = Engine(start, shape, _cache(start, settings, card), api)
    mps.watch(link, lambda: engine.die(MPS_ENDED))
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
