"""What every argument and variable of vLLM does to memory: nothing, something that is priced, or something that is not.

Pure. What stands in none of these tables is refused at its line, as what is known to change memory and is not priced.
The flags that the plan sets itself are refused before (manifest/managed_args.py). Read in vLLM 0.26 and 0.32:
engine/arg_utils.py, entrypoints/*/cli_args.py and envs.py.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping

from kit.errors import KeyPath, quoted
from kit.manifest import managed_args
from kit.manifest.model import Model
from kit.manifest.validators import Refused
from kit.memory.served import PRICED as PRICED_CACHES
from kit.memory.served import UNPRICED as UNPRICED_CACHES


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Read by memory/flags.py, and by start_checks.py.
PRICED = _words(
    "max-num-batched-tokens kv-cache-dtype block-size quantization dtype speculative-config "
    "mamba-ssm-cache-dtype enable-prefix-caching disable-hybrid-kv-cache-manager language-model-only "
    "enable-chunked-prefill hf-overrides limit-mm-per-prompt long-prefill-token-threshold attention-backend"
)

# Words, formats, logs, limits of requests, where files are: no bytes on the card, or less than without them.
NOTHING = _words(
    "aggregate-engine-logging allow-credentials allow-deprecated-quantization allowed-headers "
    "allowed-local-media-path allowed-media-domains allowed-methods allowed-origins "
    "anthropic-disabled-thinking-effort api-server-count async-scheduling calculate-kv-scales chat-template "
    "chat-template-content-format code-revision cohere-format cohere-is-reasoning-model collect-detailed-traces "
    "config-format cudagraph-metrics custom-histogram-buckets default-chat-template-kwargs "
    "disable-access-log-for-endpoints disable-cascade-attn disable-custom-all-reduce disable-fastapi-docs "
    "disable-log-requests disable-log-stats disable-uvicorn-access-log enable-auto-tool-choice "
    "enable-cumem-allocator enable-flash-late-interaction enable-flashinfer-autotune enable-force-include-usage "
    "enable-layerwise-nvtx-tracing enable-log-deltas enable-log-outputs enable-log-requests "
    "enable-logging-iteration-details enable-mamba-cache-stochastic-rounding enable-mfu-metrics "
    "enable-mm-embeds enable-offline-docs enable-per-request-metrics enable-prompt-embeds "
    "enable-prompt-tokens-details enable-request-id-headers enable-server-load-tracking enable-sleep-mode "
    "enable-ssl-refresh enable-tokenizer-info-endpoint enable-trace-replay exclude-tools-when-tool-choice-none "
    "fail-on-environ-validation fingerprint-mode fingerprint-value gdn-prefill-backend generation-config "
    "h11-max-header-count h11-max-incomplete-event-size help ignore-patterns interleave-mm-strings "
    "io-processor-plugin jit-monitor-mode jit-monitor-verbose kv-cache-metrics kv-cache-metrics-sample "
    "kv-events-config load-format log-config-file log-error-stack log-level logging-config logits-processors "
    "logprobs-mode mamba-backend mamba-cache-philox-rounds max-log-len max-logprobs max-long-partial-prefills "
    "max-num-queued-reqs max-num-queued-tokens max-parallel-loading-workers media-io-kwargs middleware "
    "mm-hasher-algorithm mm-processor-cache-gb mm-processor-cache-type mm-shm-cache-max-object-size-mb "
    "mm-tensor-ipc model-loader-extra-config numa-bind numa-bind-cpus numa-bind-nodes otlp-traces-endpoint "
    "override-generation-config per-request-spec-decode-metrics pooler-config prefill-schedule-interval "
    "prefix-caching-hash-algo prefix-match-unit profiler-config pt-load-map-location reasoning-config "
    "reasoning-parser reasoning-parser-plugin renderer-num-workers response-role return-tokens-as-token-ids "
    "safetensors-load-strategy safetensors-prefetch-block-size safetensors-prefetch-num-threads "
    "scheduler-reserve-full-isl scheduling-policy seed show-hidden-metrics-for-version shutdown-timeout "
    "skip-mm-profiling skip-tokenizer-init sleep-mode-offload-cudagraph sse-keep-alive-interval ssl-ca-certs "
    "ssl-cert-reqs ssl-ciphers stream-interval structured-outputs-config tokenizer tokenizer-mode "
    "tokenizer-revision tokens-only tool-call-parser tool-parser-plugin tool-server tool-strict-level "
    "trust-remote-code trust-request-chat-template trust-request-mm-kwargs use-tqdm-on-load uvicorn-log-level "
    "video-pruning-method video-pruning-rate watermark watermark-config grpc-port "
    "lora-target-modules enable-shm-tensor-arena sleep-preserve-parameter-names"
)

_OFFLOAD = "moves weights or KV cache to the host"
_LAYOUT = "changes what the KV cache or the states take"
_KERNELS = "chooses kernels, whose buffers and padding are not known"
_PARALLEL = "is for several cards"
_OTHER_MODEL = "makes another model of it than its files describe"
UNPRICED: Mapping[str, str] = {
    **dict.fromkeys(("cpu-offload-gb", "cpu-offload-params", "kv-offloading-backend", "kv-offloading-size"), _OFFLOAD),
    **dict.fromkeys(("offload-backend", "offload-group-size", "offload-num-in-group", "offload-params"), _OFFLOAD),
    **dict.fromkeys(("offload-prefetch-step", "kv-transfer-config", "ec-transfer-config", "engram-config"), _OFFLOAD),
    **dict.fromkeys(("ec-manager-config", "mm-ipc-gpu-memory-gb", "mm-processor-device"), _OFFLOAD),
    **dict.fromkeys(("kv-cache-dtype-skip-layers", "mamba-cache-dtype", "mamba-cache-mode"), _LAYOUT),
    **dict.fromkeys(("mamba-block-size", "kv-sharing-fast-prefill", "disable-sliding-window"), _LAYOUT),
    **dict.fromkeys(("swa-bounded-replay", "prefix-cache-retention-interval", "use-replayssm"), _LAYOUT),
    **dict.fromkeys(("replayssm-buffer-len", "enable-mamba-shared-prefix-checkpoint", "mamba-ssu-algorithm"), _LAYOUT),
    **dict.fromkeys(("attention-config", "kernel-config", "linear-backend", "moe-backend", "ir-op-priority"), _KERNELS),
    **dict.fromkeys(("kda-decode-backend", "kda-prefill-backend", "sparse-indexer-topk-backend"), _KERNELS),
    **dict.fromkeys(("mm-encoder-attn-backend", "mm-encoder-attn-dtype", "enable-bf16x3-router-gemm"), _KERNELS),
    **dict.fromkeys(("mm-encoder-fp8-scale-path", "quantization-config", "override-attention-dtype"), _KERNELS),
    **dict.fromkeys(
        ("enable-dbo", "ubatch-size", "dbo-decode-token-threshold", "dbo-prefill-token-threshold"), _KERNELS
    ),
    **dict.fromkeys(("all2all-backend", "eplb-config", "enable-eplb", "enable-elastic-ep", "master-addr"), _PARALLEL),
    **dict.fromkeys(("master-port", "device-ids", "mm-encoder-tp-mode", "ray-workers-use-nsight"), _PARALLEL),
    **dict.fromkeys(("expert-placement-strategy", "data-parallel-rank", "data-parallel-address"), _PARALLEL),
    **dict.fromkeys(("hf-config-path", "model-impl", "model-class-overrides", "additional-config"), _OTHER_MODEL),
    **dict.fromkeys(("worker-cls", "worker-extension-cls", "scheduler-cls", "diffusion-config"), _OTHER_MODEL),
    "spec-method": "asks for speculative decoding",
    "spec-model": "asks for speculative decoding",
    "spec-tokens": "asks for speculative decoding",
    "performance-mode": "changes batches and requests, which the plan sets",
    "max-num-partial-prefills": "changes batches, which the plan sets",
    "max-num-scheduled-tokens": "changes batches, which the plan sets",
    "max-num-active-seqs": "changes how many requests run, which the plan sets",
    "disable-chunked-mm-input": "makes a batch hold the largest image",
    "device-memory-utilization": "changes what the worker may take, which the plan sets",
    "mm-encoder-only": "leaves the language model out",
    "enable-return-routed-experts": "keeps every token's experts",
    "aux-output-config": "keeps more of every token",
    "return-sampling-mask": "keeps more of every token",
    "long-prefill-token-threshold-adaptive": "changes batches, which the plan sets",
    "use-fp64-gumbel": "samples in 64 bits",
    "weight-transfer-config": "receives weights from another process",
}

# Families of flags that keep growing.
_FAMILIES = (
    (
        r"(data-parallel|dp|dcp|cp|elastic-ep|distributed|cpu-distributed|disable-nccl|fault-tolerance|"
        r"enable-(scale-out|nccl|ep|hc-sp|batch-sharded|fault))(-.*)?",
        _PARALLEL,
    ),
    (r".*-lora.*|enable-moe-shared-loras", "is for adapters, which the plan sets"),
    (r"mm-(encoder|device)-.*", _KERNELS),
)

# hf-overrides that change no shape which the bill reads.
OVERRIDES = {
    "architectures", "classifier_from_token", "id2label", "is_matryoshka", "is_original_qwen3_reranker", "label2id",
    "matryoshka_dimensions", "max_position_embeddings", "method", "num_labels", "problem_type", "rope_parameters",
    "rope_scaling", "rope_theta", "use_activation", "use_pad_token", "use_sep_token",
}  # fmt: skip
BACKENDS = ("FLASH_ATTN", "TRITON_ATTN")

VARIABLES: Mapping[str, str] = {
    "VLLM_ATTENTION_BACKEND": _KERNELS,
    "VLLM_BATCH_INVARIANT": _KERNELS,
    "VLLM_FLASHINFER_WORKSPACE_BUFFER_SIZE": "changes a workspace on the card",
    "VLLM_FUSED_MOE_CHUNK_SIZE": "changes the buffers of experts",
    "VLLM_KV_CACHE_LAYOUT": _LAYOUT,
    "VLLM_MLA_DISABLE": _LAYOUT,
    "VLLM_PREFIX_CACHE_RETENTION_INTERVAL": _LAYOUT,
    "VLLM_SSM_CONV_STATE_LAYOUT": _LAYOUT,
    "VLLM_SPARSE_INDEXER_MAX_LOGITS_MB": "changes a workspace on the card",
    "VLLM_USE_SIMPLE_KV_OFFLOAD": _OFFLOAD,
    "VLLM_USE_V2_MODEL_RUNNER": "changes what the sampler keeps for every request",
    "VLLM_ALLOW_CHUNKED_LOCAL_ATTN_WITH_HYBRID_KV_CACHE": _LAYOUT,
    "VLLM_ENABLE_STARTUP_PLAN": "measures the card, which the plan does not need",
}
# Families of variables for logs, requests, timeouts, downloads and other machines.
_QUIET = re.compile(
    r"VLLM_(LOG|NO_USAGE|DO_NOT_TRACK|USAGE|HTTP|RPC|ENGINE_|EXECUTE|AUDIO|IMAGE|VIDEO|MEDIA|MAX_|MM_HASHER|ASSETS|"
    r"SERVER_DEV|ALLOW_LONG|ALLOW_RUNTIME|ALLOW_INSECURE|PLUGINS|WORKER_|HOST_IP|LOOPBACK|TOOL_|GPT_OSS|CACHE_ROOT|"
    r"CONFIG|DEBUG|DISABLE_|DEEP_GEMM|USE_DEEP_GEMM|USE_FLASHINFER_SAMPLER|USE_TRITON_AWQ|TRITON_|MARLIN_USE|MSGPACK|"
    r"USE_FASTOKENS|USE_MODELSCOPE|V1_|XGRAMMAR|SKIP_|KEEP_ALIVE|GC_|ENABLE_(COHERE|CUDA_|CUDAGRAPH_GC|INDUCTOR|RESPON"
    r"|V1_)|ENFORCE|TUNED_|TRACE_|LORA_|REGEX|RINGBUFFER|PROCESS|SYSTEM_START|CHAT_TEMPLATE|COMPILE_CACHE|FLOAT32|WSL2|"
    r"ROCM_|XPU_|CPU_|TPU_|NCCL|TARGET_DEVICE|IMAGE_TAG|BUILD|FLASHINFER_AUTOTUNE|USE_AOT|USE_STANDALONE|TEST_).*"
)


def refused(model: Model) -> Iterator[tuple[KeyPath, Refused]]:
    """(path in the model, why) of every argument and variable whose bytes are not known."""
    managed = {index for index, _ in managed_args.arguments("vllm", model.args)}
    for index, arg in enumerate(model.args):
        if index not in managed and re.match(r"--[A-Za-z]", arg) and (why := _argument(arg, _value(model.args, index))):
            yield ("args", index), why
    for name in model.env:
        if name in managed_args.VARIABLES:
            continue
        if said := VARIABLES.get(name):
            yield ("env", name), Refused(f"{name} {said}", "the plan does not price that; leave it out", at_key=True)
        elif name.startswith("VLLM_") and not _QUIET.fullmatch(name):
            what = f"{name}: what it does to memory is not known to the kit"
            yield ("env", name), Refused(what, "leave it out", at_key=True)


def _value(args: tuple[str, ...], index: int) -> str:
    _, equals, value = args[index].partition("=")
    return value if equals else args[index + 1] if index + 1 < len(args) else ""


def _argument(arg: str, value: str) -> Refused | None:
    written = re.split(r"[=\s]", arg)[0]
    name = full_name(written)
    family = next((why for form, why in _FAMILIES if re.fullmatch(form, written[2:].replace("_", "-"))), None)
    if name is None and family:
        return Refused(f"{quoted(written)} {family}", "leave it out")
    if name is None:
        near = difflib.get_close_matches(written[2:], [*PRICED, *NOTHING], 1, 0.85)
        hint = f"did you mean --{near[0]}?" if near else ""
        return Refused(f"{quoted(written)}: what it does to memory is not known to the kit", "leave it out", hint)
    if name in UNPRICED:
        return Refused(f"{quoted(written)} {UNPRICED[name]}", "the plan does not price that; leave it out")
    return _VALUES[name](value) if name in _VALUES else None


def full_name(written: str) -> str | None:
    """The flag that vLLM's parser takes `--no-enable-prefix-caching`, `--max_num_b` or `--limit-mm-per-prompt.image`
    for; None for one that it does not know."""
    spelt = written[2:].partition(".")[0].replace("_", "-")
    every = {*PRICED, *NOTHING, *UNPRICED}
    for name in (spelt, spelt.removeprefix("no-")):
        if name in every:
            return name
        longer = [known for known in every if known.startswith(name) and len(name) > 3]
        if len(longer) == 1:
            return longer[0]
    return None


def _cache(value: str) -> Refused | None:
    if value in PRICED_CACHES:
        return None
    if value in UNPRICED_CACHES:
        return Refused(f"the KV cache in {value} has {UNPRICED_CACHES[value]}, which is not priced", _caches())
    return Refused(f"{quoted(value)} is no type of KV cache", _caches())


def _caches() -> str:
    return f"needed: one of {', '.join(PRICED_CACHES)}"


def _dtype(value: str) -> Refused | None:
    known = ("auto", "half", "float16", "bfloat16", "float", "float32")
    return None if value in known else Refused(f"{quoted(value)} is no dtype", f"needed: one of {', '.join(known)}")


def _backend(value: str) -> Refused | None:
    if value.upper() in BACKENDS:
        return None
    needed = f"needed: one of {', '.join(BACKENDS)}, or leave it out"
    return Refused(f"the workspace of the attention backend {value} is not known", needed)


_VALUES = {"kv-cache-dtype": _cache, "dtype": _dtype, "attention-backend": _backend}
