"""The manifest that `monogpu-kit init` writes: a few models for the card, and every key with its meaning.

A commented key shows its default, or an example: without the `#` the file is still a manifest.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from kit.errors import printable
from kit.gpu import Gpu
from kit.manifest.model import schema
from kit.units import GIB, MIB

# Written beside the manifest, so that editors complete and check it without network, for this very version.
SCHEMA_FILE = ".monogpu.schema.json"


@dataclass(frozen=True)
class Pick:
    """A model that the manifest begins with; `why` becomes its comment."""

    name: str
    source: str
    why: str


_TINY = Pick("tiny", "HuggingFaceTB/SmolLM2-135M-Instruct", "135M parameters: answers even on a CPU")
_SMALL = Pick("small", "HuggingFaceTB/SmolLM2-360M-Instruct", "360M parameters: short and simple texts")
_FAST = Pick("fast", "Qwen/Qwen2.5-0.5B-Instruct", "0.5B parameters: fast answers")
_CHAT = Pick("chat", "Qwen/Qwen2.5-1.5B-Instruct", "1.5B parameters: the better answers")
_SMART = Pick("smart", "Qwen/Qwen2.5-7B-Instruct", "7B parameters: the best answers here")

# (from this many bytes on, these models); the first that the card reaches
_BY_SIZE = (
    (40 * GIB, (_SMART, _CHAT, _FAST)),
    (20 * GIB, (_SMART, _FAST)),
    (12 * GIB, (_CHAT, _FAST, _SMALL)),
    (6 * GIB, (_FAST, _SMALL)),
    (0, (_FAST,)),
)


def picks(gpu: Gpu | None) -> tuple[Pick, ...]:
    """Models for a card by its size; on the CPU, and for an unknown card, what starts anywhere."""
    if gpu is None:
        return (_FAST, _SMALL)
    if gpu.kind == "host":
        return (_TINY,)
    return next(models for size, models in _BY_SIZE if gpu.total_bytes >= size)


def starter(gpu: Gpu | None = None, models: Sequence[Pick] | None = None) -> str:
    """The text of a manifest for `gpu` (None: unknown) with `models` (None: by the card's size)."""
    first, *others = models or picks(gpu)
    rest = _REST.replace("DRA", "none" if gpu and gpu.kind == "host" else "dra")
    return "\n".join([_HEAD, _gpu(gpu), rest, _model(first), _KEYS, *(_model(one) for one in others)]) + "\n"


def schema_text() -> str:
    """What `SCHEMA_FILE` holds."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def _gpu(gpu: Gpu | None) -> str:
    device = "none" if gpu and gpu.kind == "host" else f'"{gpu.index if gpu else 0}"'
    # A card given as a size is planned for without asking a driver.
    by_size = gpu is not None and gpu.kind == "cuda" and gpu.uuid is None
    memory = f"memory: {_size(gpu.total_bytes)}" if gpu and by_size else "#memory: 16GiB"
    card = f"  # {printable(gpu.name)}" if gpu else ""
    return f"""\
gpu:{card}
  device: {device:<18} # index or UUID, as `nvidia-smi -L` prints them; none serves on the CPU
  {memory:<26} # plan for a card of this size without asking the driver
  #reserve: 512MiB           # left to the desktop and others; default: what they hold now, and a margin
  #access: nvidia            # how Docker hands the card over: nvidia or cdi
  #mps: false                # NVIDIA MPS: the workers' kernels run side by side"""


def _size(count: int) -> str:
    if count % GIB == 0:
        return f"{count // GIB}GiB"
    return f"{count // MIB}MiB" if count % MIB == 0 else str(count)


def _model(pick: Pick) -> str:
    return f"  - name: {pick.name:<20} # {pick.why}\n    source: {pick.source}"


_HEAD = f"""\
# yaml-language-server: $schema={SCHEMA_FILE}
# Several models on one GPU, behind one OpenAI endpoint.
#   monogpu-kit check    what is wrong in this file, line by line
#   monogpu-kit plan     what each model takes of the card
#   monogpu-kit up       print docker-compose.yaml, start it, verify it
# Commented lines show the defaults, or examples; remove the # to change them.

#name: assistants            # the Compose project; default: the folder's name"""

_REST = """\
#start: sequential           # one worker after another; parallel: all at once, where every byte is pinned
router:
  #engine: smg               # smg or vllm-router
  bind: 127.0.0.1            # this machine alone; 0.0.0.0 is everyone who reaches it, and needs an api_key
  port: 30000                # the endpoint is http://127.0.0.1:30000/v1
  #policy: round_robin       # how requests are spread over replicas
  #api_key: MONOGPU_API_KEY  # the environment variable that holds the key; never the key itself
  #api_key_file: ./secrets/api-key # or the file that holds it
  #image: lightseekorg/smg:1.13.0
  #haproxy_image: haproxy:3.2-alpine # stands in front where a model ranks or classifies
kubernetes:                  # read by `render --target kubernetes` alone
  shape: auto                # deployment-per-model, or pod-per-card: all workers of a card in one pod
  #namespace: assistants     # default: the project's name
  #copies: 1                 # cards, each with all models; with autoscaler: true, the most that run
  #gpu: DRA                  # dra: one claim for all; device-plugin: time slices; none: the CPU
  #storage_class: standard   # of models and caches
  #cache_size: 40GiB         # default: by the weights
  #access_mode: ReadWriteOnce # with copies, ReadWriteMany is one volume for all
  #node_selector: {nvidia.com/gpu.product: NVIDIA-L4} # labels of the nodes that serve
  #tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}] # also value: and toleration_seconds:
  #image_pull_secrets: [registry] # Secrets with a registry's credentials
  #image_map: {"vllm/vllm-openai:v0.26.0": "registry.example.com/vllm-openai:v0.26.0"} # as your cluster pulls it
models:"""

_KEYS = """\
    # source is a Hugging Face id, with @REVISION to pin it, or a folder such as ./models/chat
    #engine: vllm            # vllm, ollama or triton
    #task: generate          # generate, embed, rerank or classify
    #context: 8k             # prompt and answer together, in tokens; default: the model's maximum, at most 8192
    #requests: 32            # at the same time; auto: as many as fit
    #memory: auto            # or 4GiB: the worker's whole footprint, as the driver sees it
    #weight: 1               # its share of what is left over, which becomes KV cache
    #tools: auto             # what reads its tool calls: auto, off or the name of vLLM's parser
    #reasoning: auto         # the same for what it thinks before it answers
    #graphs: auto            # CUDA graphs: auto, full, small or off
    #limits: {image_tokens: auto, prompt_logprobs: false} # the largest image; log probabilities of prompts
    #replicas: 1             # workers of this model on the card
    #adapters: [{name: code, source: ./adapters/code}]  # LoRA: each is one more name
    #args: [--max-num-batched-tokens, "2048"]           # more arguments for the engine
    #env: {HF_TOKEN: "${HF_TOKEN}"}                     # ${NAME} is read from your environment
    #volumes: ["./data:/data:ro"]                       # host:container, read only with :ro
    #image: vllm/vllm-openai:v0.26.0"""
