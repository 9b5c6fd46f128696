"""The names of vLLM 0.26's flags that the pretend engine takes and does nothing with."""

from __future__ import annotations

from .names import names

SWITCHES = names(
    """
aggregate-engine-logging allow-credentials allow-deprecated-quantization async-scheduling calculate-kv-scales
cudagraph-metrics data-parallel-external-lb data-parallel-hybrid-lb data-parallel-multi-port-external-lb
disable-cascade-attn disable-chunked-mm-input disable-custom-all-reduce disable-fastapi-docs
disable-hybrid-kv-cache-manager disable-log-stats disable-nccl-for-dp-synchronization disable-sliding-window
enable-bf16x3-router-gemm enable-chunked-prefill enable-cumem-allocator enable-dbo enable-elastic-ep
enable-ep-weight-filter enable-eplb enable-expert-parallel enable-flash-late-interaction enable-flashinfer-autotune
enable-force-include-usage enable-layerwise-nvtx-tracing enable-log-deltas enable-log-outputs enable-log-requests
enable-logging-iteration-details enable-mamba-cache-stochastic-rounding enable-mfu-metrics enable-mixed-moe-lora-format
enable-mm-embeds enable-moe-shared-loras enable-offline-docs enable-per-request-metrics
enable-prompt-embeds enable-prompt-tokens-details enable-request-id-headers enable-return-routed-experts
enable-server-load-tracking enable-ssl-refresh enable-tokenizer-info-endpoint enable-tower-connector-lora
exclude-tools-when-tool-choice-none fail-on-environ-validation fully-sharded-loras interleave-mm-strings
jit-monitor-verbose kv-cache-metrics kv-sharing-fast-prefill language-model-only log-error-stack mm-encoder-only
numa-bind ray-workers-use-nsight return-tokens-as-token-ids scheduler-reserve-full-isl skip-mm-profiling
skip-tokenizer-init specialize-active-lora tokens-only trust-remote-code trust-request-chat-template use-fp64-gumbel
use-tqdm-on-load
"""
)

VALUES = names(
    """
additional-config all2all-backend allowed-headers allowed-local-media-path allowed-methods allowed-origins
api-server-count attention-backend attention-config chat-template chat-template-content-format code-revision
config-format cp-kv-cache-interleave-size cpu-distributed-timeout-seconds cpu-offload-gb data-parallel-address
data-parallel-backend data-parallel-rank data-parallel-rpc-port data-parallel-size data-parallel-size-local
data-parallel-start-rank dbo-decode-token-threshold dbo-prefill-token-threshold dcp-comm-backend
dcp-kv-cache-interleave-size decode-context-parallel-size default-chat-template-kwargs default-mm-loras
diffusion-config distributed-executor-backend distributed-timeout-seconds download-dir ec-transfer-config eplb-config
expert-placement-strategy fingerprint-mode fingerprint-value gdn-prefill-backend generation-config
h11-max-header-count h11-max-incomplete-event-size hf-config-path hf-overrides io-processor-plugin ir-op-priority
jit-monitor-mode kernel-config kv-cache-metrics-sample kv-events-config kv-offloading-backend kv-offloading-size
kv-transfer-config limit-mm-per-prompt linear-backend log-config-file logprobs-mode long-prefill-token-threshold
lora-dtype mamba-backend mamba-block-size mamba-cache-dtype mamba-cache-mode mamba-cache-philox-rounds
mamba-ssm-cache-dtype master-addr master-port max-log-len max-logprobs max-long-partial-prefills
max-num-partial-prefills max-num-scheduled-tokens max-parallel-loading-workers media-io-kwargs mm-encoder-attn-backend
mm-encoder-attn-dtype mm-encoder-fp8-scale-path mm-encoder-fp8-scale-save-margin mm-encoder-fp8-scale-save-path
mm-encoder-tp-mode mm-ipc-gpu-memory-gb mm-processor-cache-gb mm-processor-cache-type mm-processor-kwargs
mm-shm-cache-max-object-size-mb mm-tensor-ipc model-class-overrides model-impl model-loader-extra-config moe-backend
nnodes node-rank offload-backend offload-group-size offload-num-in-group offload-prefetch-step optimization-level
otlp-traces-endpoint override-attention-dtype override-generation-config performance-mode pipeline-parallel-size
pooler-config prefill-context-parallel-size prefill-schedule-interval prefix-caching-hash-algo prefix-match-unit
profiler-config pt-load-map-location quantization-config reasoning-config reasoning-parser reasoning-parser-plugin
renderer-num-workers response-role root-path safetensors-load-strategy safetensors-prefetch-block-size
safetensors-prefetch-num-threads scheduler-cls scheduling-policy seed show-hidden-metrics-for-version spec-method
spec-model spec-tokens speculative-config ssl-ca-certs ssl-cert-reqs ssl-certfile ssl-ciphers ssl-keyfile
stream-interval structured-outputs-config tensor-parallel-size tokenizer tokenizer-mode tokenizer-revision
tool-parser-plugin tool-server ubatch-size uds uvicorn-log-level video-pruning-rate watermark weight-transfer-config
worker-cls worker-extension-cls data-parallel-supervisor-port dp-supervisor-probe-failure-threshold
dp-supervisor-probe-interval-s dp-supervisor-probe-timeout-s
"""
)

LISTS = names(
    """
allowed-media-domains collect-detailed-traces cpu-offload-params device-ids ignore-patterns
kv-cache-dtype-skip-layers logits-processors lora-target-modules middleware numa-bind-cpus numa-bind-nodes
offload-params
"""
)

SHORT = {
    "attention-config": "-ac",
    "compilation-config": "-cc",
    "data-parallel-size": "-dp",
    "nnodes": "-n",
    "node-rank": "-r",
    "pipeline-parallel-size": "-pp",
    "quantization": "-q",
    "speculative-config": "-sc",
    "tensor-parallel-size": "-tp",
}
