"""/metrics: the series of vLLM that routers and people read, in Prometheus' text form."""

from __future__ import annotations

from .engine import Engine

CONTENT_TYPE = "text/plain; version=1.0.0; charset=utf-8"
_HISTOGRAMS = ("vllm:time_to_first_token_seconds", "vllm:e2e_request_latency_seconds")


def metrics_text(engine: Engine) -> str:
    with_state = {"awake": engine.sleep_level == 0, "weights_offloaded": engine.sleep_level == 1}
    with_state["discard_all"] = engine.sleep_level == 2
    count = engine.counters
    capacity = max(1, engine.cache.blocks * engine.config.block_size)
    lines = [
        *_one(engine, "gauge", "vllm:num_requests_running", count.running),
        *_one(engine, "gauge", "vllm:num_requests_waiting", count.waiting),
        *_one(engine, "gauge", "vllm:kv_cache_usage_perc", min(1.0, count.held_tokens / capacity)),
        *_one(engine, "counter", "vllm:prefix_cache_queries_total", count.prompt_tokens),
        *_one(engine, "counter", "vllm:prefix_cache_hits_total", 0),
        *_one(engine, "counter", "vllm:num_preemptions_total", 0),
        *_one(engine, "counter", "vllm:prompt_tokens_total", count.prompt_tokens),
        *_one(engine, "counter", "vllm:generation_tokens_total", count.generated_tokens),
        *_many(engine, "counter", "vllm:request_success_total", "finished_reason", count.finished),
        *_many(engine, "gauge", "vllm:engine_sleep_state", "sleep_state", with_state),
        *_histogram(engine, _HISTOGRAMS[0], count.done, count.first_token_seconds),
        *_histogram(engine, _HISTOGRAMS[1], count.done, count.request_seconds),
        *_cache_config(engine),
        *_adapters(engine),
    ]
    return "\n".join(lines) + "\n"


def _labels(**labels: object) -> str:
    return ",".join(f'{key}="{_escaped(str(value))}"' for key, value in labels.items())


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _head(kind: str, name: str) -> list[str]:
    return [f"# HELP {name} {name.removeprefix('vllm:')}", f"# TYPE {name} {kind}"]


def _one(engine: Engine, kind: str, name: str, value: float) -> list[str]:
    return [*_head(kind, name), f"{name}{{{_labels(engine=0, model_name=engine.served[0])}}} {float(value)}"]


def _many(engine: Engine, kind: str, name: str, label: str, values: dict[str, int] | dict[str, bool]) -> list[str]:
    same = {"engine": 0, "model_name": engine.served[0]}
    return [*_head(kind, name), *(f"{name}{{{_labels(**same, **{label: k})}}} {float(v)}" for k, v in values.items())]


def _histogram(engine: Engine, name: str, count: int, total: float) -> list[str]:
    labels = _labels(engine=0, model_name=engine.served[0])
    bucket = f'{name}_bucket{{{labels},le="+Inf"}} {float(count)}'
    return [
        *_head("histogram", name),
        bucket,
        f"{name}_count{{{labels}}} {float(count)}",
        f"{name}_sum{{{labels}}} {total}",
    ]


def _cache_config(engine: Engine) -> list[str]:
    name, cache, size = "vllm:cache_config_info", engine.cache, engine.config.block_size
    labels = _labels(
        block_size=size,
        cache_dtype=engine.args.kv_cache_dtype,
        enable_prefix_caching=engine.args.prefix_caching,
        engine=0,
        gpu_memory_utilization=engine.config.utilization,
        kv_cache_max_concurrency=cache.concurrency(size),
        kv_cache_memory_bytes=engine.args.kv_cache_memory_bytes,
        kv_cache_size_tokens=cache.tokens(size),
        num_gpu_blocks=cache.blocks,
    )
    return [*_head("gauge", name), f"{name}{{{labels}}} 1.0"]


def _adapters(engine: Engine) -> list[str]:
    if not engine.args.enable_lora:
        return []
    running = ",".join(name for name, number in engine.counters.running_adapters.items() if number > 0)
    labels = _labels(max_lora=engine.args.max_loras, running_lora_adapters=running, waiting_lora_adapters="")
    return [*_head("gauge", "vllm:lora_requests_info"), f"vllm:lora_requests_info{{{labels}}} 1.0"]
