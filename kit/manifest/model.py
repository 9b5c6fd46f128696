"""monogpu.yaml as types: parsed once and frozen.

Single values are checked where their types are declared: fields.py, validators.py and managed_args.py.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import AliasChoices, Field, StrictBool

from kit.manifest.fields import (
    POLICIES,
    Address,
    Bytes,
    Count,
    Device,
    Footprint,
    Image,
    KeyFile,
    ManifestPart,
    Name,
    Parser,
    Port,
    Project,
    Replicas,
    Reserve,
    Text,
    Variable,
    Volume,
    Weight,
)
from kit.manifest.fields import Engine as Engine
from kit.manifest.fields import Source as Source
from kit.manifest.fields import Task as Task
from kit.manifest.fields import parse_source as parse_source
from kit.manifest.kubernetes import KubernetesConfig
from kit.manifest.validators import variable_of as variable_of


class GpuConfig(ManifestPart):
    """The one card, and how much of it may be used."""

    device: Device = Field(
        "0",
        description="The card: its index or its UUID as `nvidia-smi -L` prints it. `none` serves on the CPU.",
        examples=["0", "GPU-5f1d6a1e-2b7c-4c1e-9a55-0f6d3c0b7a11", "none"],
    )
    memory: Bytes | None = Field(
        None,
        description="Plan for a card of this size without asking the driver. Default: what the card has.",
        examples=["16GiB"],
    )
    reserve: Reserve | None = Field(
        None,
        description="Memory left to the desktop and to other programs. Default: what they hold now, and a margin.",
        examples=["512MiB"],
    )
    access: Literal["nvidia", "cdi"] = Field(
        "nvidia",
        description="How Docker hands the card over: the NVIDIA container toolkit's runtime, or CDI.",
    )
    mps: StrictBool = Field(
        False,
        description="Run the workers' kernels side by side through NVIDIA MPS.",
    )


class RouterConfig(ManifestPart):
    """The one endpoint that clients see."""

    engine: Literal["smg", "vllm-router"] = Field(
        "smg",
        description="The router program. smg routes by name. vllm-router serves the replicas of one model, without a "
        "key; no image of it is published, `scripts/build-images vllm-router` makes monogpu/vllm-router:0.1.17.",
    )
    bind: Address = Field(
        "127.0.0.1",
        description="The address of this machine it listens on. Any but a loopback address needs an api_key.",
        examples=["127.0.0.1", "0.0.0.0"],
    )
    port: Port = Field(30000, description="The port of the endpoint.")
    policy: str = Field(
        "round_robin",
        description="How requests are spread over the replicas of a model; with one replica each it changes nothing. "
        "Measured over two replicas of a small model whose prompts share more prefixes than their caches hold: with "
        "SMG 1.4 on an RTX 5080 round_robin served 46.3 requests a second and cache_aware 38.5, with SMG 1.13 on an "
        "H200 58.3 and 73.0; with fewer prefixes they were even. `bench policy` measures yours.",
        json_schema_extra={"enum": [*sorted({policy for policies in POLICIES.values() for policy in policies})]},
    )
    api_key: Variable | None = Field(
        None,
        description="The name of the environment variable that holds the key clients must send; never the key itself.",
        examples=["MONOGPU_API_KEY"],
    )
    api_key_file: KeyFile | None = Field(
        None,
        description="The same from a file: its path, absolute or from the manifest's folder. It holds the key alone.",
        examples=["./secrets/api-key"],
    )
    image: Image | None = Field(None, description="Another image than the router's pinned one.")
    haproxy_image: Image | None = Field(
        None,
        validation_alias=AliasChoices("haproxy_image", "front_image"),  # its name in earlier manifests
        description="Another image than the pinned HAProxy, which stands in front where a model ranks or classifies.",
    )


class Adapter(ManifestPart):
    """A LoRA adapter: one more name, served by its model's worker."""

    name: Name = Field(description='The name that clients put in "model".', examples=["code"])
    source: str = Field(
        description="A Hugging Face id, OWNER/NAME or OWNER/NAME@REVISION, or a folder.",
        examples=["./adapters/code"],
    )

    @property
    def source_parsed(self) -> Source:
        """`source` as its parts."""
        return parse_source(self.source)


class Limits(ManifestPart):
    """What one request may hold, so that its memory is bounded."""

    image_tokens: Count = Field(
        "auto",
        description="The largest image, in tokens; larger ones are scaled down. For Qwen's vision models, whose images "
        "have no other limit. auto: 4096, or 1024 where that does not fit.",
        examples=[2048],
    )
    prompt_logprobs: StrictBool = Field(
        False,
        description="Serve the log probabilities of prompts (prompt_logprobs; echo with logprobs), and plan what they "
        "take. Else such a request is answered with 400, because it makes the worker larger for good.",
    )


class Model(ManifestPart):
    """One model, served by a worker of its own."""

    name: Name = Field(description='The name that clients put in "model".', examples=["chat"])
    source: str = Field(
        description="A Hugging Face id, OWNER/NAME or OWNER/NAME@REVISION, or a folder that begins with ./ or / or ~/; "
        "for engine: ollama, NAME:TAG of its library or a .gguf file.",
        examples=["Qwen/Qwen2.5-1.5B-Instruct", "./models/chat"],
        min_length=1,
    )
    engine: Engine = Field("vllm", description="The program that serves it.")
    task: Task = Field("generate", description="What it does. infer: tensors in and out, for engine: triton.")
    context: Count = Field(
        "auto",
        description="Prompt and answer together, in tokens; k is 1024. auto: the model's own maximum, at most 8192.",
        examples=["8k", 8192],
    )
    requests: Count = Field(
        32,
        description="How many requests it works on at the same time (max-num-seqs). auto: as many as fit.",
    )
    memory: Footprint = Field(
        "auto",
        description="The worker's whole footprint, as the driver sees it. auto: its need and its share of the rest.",
        examples=["4GiB"],
    )
    weight: Weight = Field(
        1,
        description="Its share of the memory that is left over, beside the other models'; it becomes KV cache.",
    )
    graphs: Literal["auto", "full", "small", "off"] = Field(
        "auto",
        description="CUDA graphs: faster, for some memory. auto takes the best that fits and says what is degraded.",
    )
    limits: Limits = Field(
        Limits(),
        description="Bounds of what one request may hold.",
        exclude_if=lambda limits: limits == Limits(),  # so that files printed before it keep their checksums
    )
    tools: Parser = Field(
        "auto",
        description="What reads the model's tool calls: auto takes the parser of its family, off none; else the name "
        "of one of vLLM's tool-call parsers.",
        examples=["hermes"],
        exclude_if=lambda tools: tools == "auto",
    )
    reasoning: Parser = Field(
        "auto",
        description="The same for what it thinks before it answers: vLLM's reasoning parsers.",
        examples=["qwen3"],
        exclude_if=lambda reasoning: reasoning == "auto",
    )
    replicas: Replicas = Field(1, description="How many workers serve it on the card.")
    adapters: tuple[Adapter, ...] = Field((), description="LoRA adapters, each under a name of its own.")
    args: tuple[Text, ...] = Field(
        (),
        description="More arguments for the engine, each part an item. One that the plan owns is refused.",
        examples=[["--kv-cache-dtype", "fp8"]],
    )
    env: dict[str, Text] = Field(
        {},
        description="More environment variables. A value ${NAME} is read from the environment when the stack starts.",
        examples=[{"HF_TOKEN": "${HF_TOKEN}"}],
    )
    volumes: tuple[Volume, ...] = Field(
        (),
        description="More mounts, host:container or host:container:ro; host is a path, or a volume's name.",
        examples=[["./templates:/templates:ro"]],
    )
    image: Image | None = Field(None, description="Another image than the engine's pinned one.")

    @property
    def source_parsed(self) -> Source:
        """`source` as its parts. Raises Refused for an engine with a library of its own, such as ollama's."""
        return parse_source(self.source)


class Manifest(ManifestPart):
    """Several small language models on one GPU, behind one OpenAI endpoint."""

    name: Project = Field(
        description="The name of the Compose project. Default: the name of the folder.", examples=["assistants"]
    )
    gpu: GpuConfig = Field(GpuConfig(), description="The card. Default: the first one, all of it that is free.")
    start: Literal["sequential", "parallel"] = Field(
        "sequential",
        description="One worker after another, or all at once where every byte is pinned.",
    )
    router: RouterConfig = Field(
        RouterConfig(), description="The endpoint. Default: http://127.0.0.1:30000, without a key."
    )
    kubernetes: KubernetesConfig = Field(
        KubernetesConfig(),
        description="For `render --target kubernetes` alone.",
        exclude_if=lambda kubernetes: kubernetes == KubernetesConfig(),
    )
    models: tuple[Model, ...] = Field(min_length=1, description="The models, started in this order.")


def schema() -> dict[str, Any]:
    """The manifest's JSON Schema, draft 2020-12, as editors use it."""
    made = Manifest.model_json_schema()
    made["required"] = ["models"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:monogpu-kit:manifest",
        **made,
        "title": "monogpu.yaml",
    }
