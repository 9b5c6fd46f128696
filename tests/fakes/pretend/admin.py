"""Everything but inference: health, models, tokenizer, adapters, sleep, and the switch for faults."""

from __future__ import annotations

import json
import time
import uuid
from pathlib import Path
from typing import Any

from . import VERSION, errors
from .engine import Engine
from .errors import StartError
from .faults import parse_fault
from .ledger import CardFullError
from .metrics import CONTENT_TYPE, metrics_text
from .replies import ApiError, Body, Reply, reply_json, reply_text, unknown_model
from .values import Lora
from .words import pieces, token_ids


def health(engine: Engine, _body: Body) -> Reply:
    """200 as long as the engine lives, whatever its requests do."""
    return Reply(503 if engine.dead or engine.fault.name == "unhealthy" else 200, "", "")


def version(_engine: Engine, _body: Body) -> Reply:
    return reply_json({"version": VERSION})


def load(engine: Engine, _body: Body) -> Reply:
    return reply_json({"server_load": 0})


def metrics(engine: Engine, _body: Body) -> Reply:
    return reply_text(metrics_text(engine), CONTENT_TYPE)


def models(engine: Engine, _body: Body) -> Reply:
    bases = [_card(name, engine.args.model, None, engine.cache.max_model_len) for name in engine.served]
    first = engine.served[0]
    loras = [_card(one.name, one.path, one.base or first, None) for one in engine.adapters.values()]
    return reply_json({"object": "list", "data": bases + loras})


def _card(name: str, root: str, parent: str | None, length: int | None) -> Body:
    created = int(time.time())
    permission: Body = {
        "id": f"modelperm-{uuid.uuid4().hex}", "object": "model_permission", "created": created,
        "allow_create_engine": False, "allow_sampling": True, "allow_logprobs": True, "allow_search_indices": False,
        "allow_view": True, "allow_fine_tuning": False, "organization": "*", "group": None, "is_blocking": False,
    }  # fmt: skip
    head = {"id": name, "object": "model", "created": created, "owned_by": "vllm", "root": root, "parent": parent}
    return {**head, "max_model_len": length, "permission": [permission]}


def tokenize(engine: Engine, body: Body) -> Reply:
    if not engine.knows(body.get("model")):
        raise unknown_model(str(body["model"]))
    text = body.get("prompt")
    if text is None:
        text = "\n".join(str(message.get("content")) for message in body.get("messages", []))
    ids = token_ids(str(text))
    strings = pieces(str(text)) if body.get("return_token_strs") else None
    return reply_json(
        {"count": len(ids), "max_model_len": engine.cache.max_model_len, "tokens": ids, "token_strs": strings}
    )


def check_adapter(engine: Engine, one: Lora) -> None:
    """Raises StartError where vLLM refuses an adapter: nothing there, no room in the rank, LoRA off."""
    if not engine.args.enable_lora:
        raise errors.adapters_disabled()
    file = Path(one.path) / "adapter_config.json"
    if not file.is_file():
        raise errors.adapter_missing(one.name, one.path)
    rank = int(json.loads(file.read_text(encoding="utf-8")).get("r", 8))
    if rank > engine.args.max_lora_rank:
        raise errors.rank_too_high(rank, engine.args.max_lora_rank)


def load_adapter(engine: Engine, body: Body) -> Reply:
    name, path = body.get("lora_name"), body.get("lora_path")
    if not name or not path:
        raise ApiError("Both 'lora_name' and 'lora_path' must be provided.", 400, "InvalidUserInput")
    if name in engine.adapters and not body.get("load_inplace"):
        text = f"The lora adapter '{name}' has already been loaded. If you want to load the adapter in place, set "
        raise ApiError(text + "'load_inplace' to True.", 400, "InvalidUserInput")
    try:
        check_adapter(engine, Lora(name, path))
    except StartError as error:
        gone = "No adapter found" in error.text
        kind = "NotFoundError" if gone else "InternalServerError"
        raise ApiError(error.text, 404 if gone else 500, kind) from error
    engine.adapters = {**engine.adapters, name: Lora(name, path)}
    engine.log.info("serving.py:200", f"Loaded new LoRA adapter: name '{name}', path '{path}'")
    return reply_text(f"Success: LoRA adapter '{name}' added successfully.")


def unload_adapter(engine: Engine, body: Body) -> Reply:
    name = body.get("lora_name")
    if not name:
        raise ApiError("'lora_name' needs to be provided to unload a LoRA adapter.", 400, "InvalidUserInput")
    if name not in engine.adapters:
        raise ApiError(f"The lora adapter '{name}' cannot be found.", 404, "NotFoundError")
    engine.adapters = {key: one for key, one in engine.adapters.items() if key != name}
    engine.log.info("serving.py:218", f"Removed LoRA adapter: name '{name}'")
    return reply_text(f"Success: LoRA adapter '{name}' removed successfully.")


def sleep(engine: Engine, body: Body) -> Reply:
    """Weights, cache and activations leave the card; context and graphs stay. Requests wait from now on."""
    if engine.sleep_level == 0 and engine.cache.holder:
        for cause in ("weights", "kv", "transient"):
            engine.cache.holder.give(cause)
    engine.sleep_level = engine.sleep_level or int(body.get("level", 1))
    return Reply(200, "", "")


def wake_up(engine: Engine, _body: Body) -> Reply:
    holder, cache = engine.cache.holder, engine.cache
    if engine.sleep_level and holder:
        try:
            holder.take("weights", engine.bill.weights)
            holder.take("kv", cache.blocks * cache.block_bytes)
        except CardFullError as error:
            text = "Call to wake_up method failed: CUDA Error: out of memory at /workspace/csrc/cumem_allocator.cpp:62"
            raise ApiError(text, 500, "InternalServerError") from error
    engine.sleep_level = 0
    return Reply(200, "", "")


def is_sleeping(engine: Engine, _body: Body) -> Reply:
    return reply_json({"is_sleeping": engine.sleep_level > 0})


def set_fault(engine: Engine, body: Body) -> Reply:
    """`{"fault": "hang"}`; an empty one heals."""
    try:
        engine.set_fault(parse_fault(str(body.get("fault", ""))))
    except ValueError as error:
        raise ApiError(str(error)) from error
    return state(engine, {})


def state(engine: Engine, _body: Body) -> Reply:
    """What only a pretend engine tells."""
    holder = engine.cache.holder
    answer: dict[str, Any] = {"fault": engine.fault.name, "id": holder.id if holder else None}
    return reply_json({**answer, "requests": engine.counters.done})
