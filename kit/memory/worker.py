"""What one vLLM worker costs on its card, line by line, all but its KV cache (kv_cache.py). Pure.

Theory. A worker's footprint, as the driver shows it for the process, is
    context + runtime + weights + adapters + sampler + buffers + activations + graphs + KV cache.
Exact terms follow from the model's shapes and vLLM's own allocations; the others are constants (constants.py),
each with the readings it was fitted on. Sources name files of vLLM 0.26.
"""

from __future__ import annotations

from dataclasses import dataclass

from kit.facts.facts import Facts
from kit.memory.bill import Line
from kit.memory.constants import HOST_RUNTIME, HOST_WHY, Constants, constants_for
from kit.memory.kv_cache import CacheRules, States
from kit.memory.served import DTYPE_BYTES
from kit.memory.vllm_versions import VersionTraits
from kit.memory.weights import lora_bytes, per_layer_width, rope_bytes, weights_bytes
from kit.units import up

# Bytes an element of what Gemma 4 makes of a batch for all its layers before the first, with the copies in float that
# normalising takes. Fitted on one worker: Gemma 4 E4B took 1,130 MiB more than without it, 105 of them weights.
PER_LAYER_INPUT = 40


@dataclass(frozen=True)
class MeasuredSettings:
    """What a measurement holds for: how many `requests` of `context` tokens, the CUDA graph batch sizes (() for eager)
    and the KV cache's type."""

    requests: int
    context: int
    capture_sizes: tuple[int, ...]
    kv_dtype: str

    def __str__(self) -> str:
        sizes = self.capture_sizes
        graphs = f"{len(sizes)} graphs for batches of up to {sizes[-1]}" if sizes else "no graphs"
        return f"{self.requests} requests of {self.context} tokens, {graphs}"


@dataclass(frozen=True)
class WorkerSettings:
    """How a worker is run. `sizes` are the CUDA graph batch sizes, () for eager; `lora_slots` adapters of up to
    `lora_rank` may be active at once; `in_flight` tokens may be on their way while two batches overlap.
    `keep_all` and `states` are those of CacheRules; a batch takes `least_batch` tokens at least, and a
    whole block of the cache when it is `aligned`; `image_tokens` limit an image, 0 for the model's own limit;
    `prompt_logprobs` are served."""

    context: int
    requests: int
    batched_tokens: int
    sizes: tuple[int, ...] = ()
    kv_dtype: str = "auto"
    block_tokens: int = 16
    quantization: str | None = None
    pooling: bool = False
    host: bool = False
    lora_slots: int = 0
    lora_rank: int = 0
    in_flight: int = 4096
    keep_all: bool = False
    states: States = "one"
    aligned: bool = False
    least_batch: int = 0
    image_tokens: int = 0
    prompt_logprobs: bool = False

    @property
    def cache_rules(self) -> CacheRules:
        """What the settings make of the KV cache."""
        return CacheRules(self.kv_dtype, self.block_tokens, self.in_flight, self.keep_all, self.states)

    @property
    def measured(self) -> MeasuredSettings:
        """What a measurement of this worker holds for."""
        return MeasuredSettings(self.requests, self.context, self.sizes, self.kv_dtype)


@dataclass(frozen=True)
class CardTraits:
    """What the bill must know of the card and the engine."""

    compute_capability: str | None
    version: VersionTraits


@dataclass(frozen=True)
class Measured:
    """A locked reading of one worker: everything but its KV cache, in bytes; `why` says what it was measured on."""

    settings: MeasuredSettings
    rest_bytes: int
    context_bytes: int
    why: str


def capture_sizes(setting: WorkerSettings) -> tuple[int, ...]:
    """The batch sizes that vLLM captures by default: 1, 2, 4, every 8 below 256, every 16 from there, up to twice
    max_num_seqs, at most 512; and the largest batch (config/vllm.py, _set_cudagraph_sizes)."""
    top = min(setting.requests * 2, 512, setting.batched_tokens)
    sizes = {n for n in (1, 2, 4) if n <= top} | set(range(8, min(top + 1, 256), 8)) | set(range(256, top + 1, 16))
    return tuple(sorted(sizes | {setting.batched_tokens} if setting.batched_tokens <= top else sizes))


def rest_lines(facts: Facts, setting: WorkerSettings, card: CardTraits) -> tuple[Line, ...]:
    """Every term but the KV cache, for a worker of `facts` run as `setting` on `card`: what it grows to under load."""
    lines = _host_lines(facts, setting) if setting.host else _card_lines(facts, setting, card)
    return tuple(line for line in lines if line.bytes)


def _host_lines(facts: Facts, setting: WorkerSettings) -> list[Line]:
    return [
        Line("weights", weights_bytes(facts), f"{facts.parameters:,} parameters in {facts.dtype}"),
        *_adapter_lines(facts, setting, 0),
        *_prompt_lines(facts, setting),
        Line("runtime", HOST_RUNTIME, HOST_WHY),
    ]


def _card_lines(facts: Facts, setting: WorkerSettings, card: CardTraits) -> list[Line]:
    known = constants_for(card.compute_capability)
    kv_dtype = facts.kv_dtype if setting.kv_dtype == "auto" and facts.kv_dtype else setting.kv_dtype
    fp8 = 0 if kv_dtype in ("auto", *DTYPE_BYTES) else known.fp8
    read = "headers read" if facts.from_headers else "counted from config.json"
    why = f"{facts.parameters:,} parameters in {facts.quantization or facts.dtype}, {read}"
    return [
        Line("weights", weights_bytes(facts, setting.quantization) + rope_bytes(facts), why),
        *_adapter_lines(facts, setting, known.lora),
        *_sampler_lines(facts, setting, card, known),
        *_prompt_lines(facts, setting),
        Line("activations", _activations(facts, setting, known), f"batches of {setting.batched_tokens:,} tokens"),
        *_encoder_lines(facts, setting, known),
        *_graph_lines(facts, setting, known),
        Line("fp8_cache", fp8, "scales and workspace of a KV cache in fp8"),
        Line("runtime", known.runtime, f"CUDA modules and workspaces; {known.why}"),
        Line("context", known.context, known.context_why),
    ]


def _adapter_lines(facts: Facts, setting: WorkerSettings, kernels: int) -> list[Line]:
    """The slots, and `kernels` bytes that their kernels keep."""
    count = setting.lora_slots
    why = f"{count} LoRA slot{'s' if count > 1 else ''} of rank {setting.lora_rank}"
    return [Line("adapters", lora_bytes(facts, count, setting.lora_rank) + kernels, why)] if count else []


def _sampler_lines(facts: Facts, setting: WorkerSettings, card: CardTraits, known: Constants) -> list[Line]:
    """Penalty counters: int32 for each request and vocabulary entry, and one bit (v1/worker/gpu/sample/penalties.py);
    logits and their copies: several float tensors of the same shape that sampling leaves in the allocator."""
    if setting.pooling:
        return []
    requests = min(setting.requests, setting.batched_tokens)
    shape = f"{requests} requests x {facts.vocab:,} tokens in the vocabulary"
    counters = setting.requests * facts.vocab * 4 + setting.requests * up(facts.vocab, 32) // 8
    return [
        Line("sampler", counters if card.version.v2_runner else 0, f"penalties: {shape} x 4 B"),
        Line("logits", int(requests * facts.vocab * known.logits), f"{shape} x {known.logits} B"),
    ]


def _prompt_lines(facts: Facts, setting: WorkerSettings) -> list[Line]:
    """What the log probabilities of a prompt leave in the allocator: the logits of a whole batch. Measured on an H200:
    2 bytes an entry for dense models in 16 bits, 4 in float32, 10 for mixtures of experts and for models with states,
    which vLLM 0.26 serves by its first runner. On the CPU: not measured, charged as the most."""
    if not setting.prompt_logprobs or setting.pooling:
        return []
    first = setting.host or facts.experts > 0 or any(one.state_bytes for one in facts.attention)
    each = 10 if first else 4 if facts.dtype == "float32" else 2
    why = f"batches of {setting.batched_tokens:,} tokens x {facts.vocab:,} x {each} B"
    return [Line("prompt_logprobs", setting.batched_tokens * facts.vocab * each, why)]


def _activations(facts: Facts, setting: WorkerSettings, known: Constants) -> int:
    width = facts.experts_per_token * facts.expert_intermediate if facts.experts_per_token else facts.intermediate
    element = 4 if facts.dtype == "float32" else 2
    layers = int(known.activations * setting.batched_tokens * (4 * facts.hidden + 3 * width) * element)
    return layers + setting.batched_tokens * per_layer_width(facts) * PER_LAYER_INPUT


def _encoder_lines(facts: Facts, setting: WorkerSettings, known: Constants) -> list[Line]:
    """The run of the largest image, which vLLM tries at its start and any client may send, and outputs that wait.
    The language model's activations come after it, in the same memory."""
    if facts.encoder is None:
        return []
    found = facts.encoder.limited(setting.image_tokens)
    beyond = max(found.run_bytes(setting.batched_tokens) - _activations(facts, setting, known), 0)
    need = beyond + found.cache_bytes(setting.batched_tokens)
    why = f"images of up to {found.tokens:,} tokens, estimated; none with --language-model-only"
    return [Line("encoder", need, why)]


def _graph_lines(facts: Facts, setting: WorkerSettings, known: Constants) -> list[Line]:
    """Every captured size costs the driver some memory a layer; adapters double the captures (v1/worker/gpu/
    lora_utils.py); pooling captures no whole decode step."""
    if not setting.sizes:
        return []
    captures = len(setting.sizes) * (2 if setting.lora_slots else 1)
    pool = 0 if setting.pooling else known.graphs
    why = f"{captures} captures of {facts.layers} layers, batches of up to {setting.sizes[-1]}"
    return [Line("graphs", pool + captures * facts.layers * known.graph_layer, why)]
