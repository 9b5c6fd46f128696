"""monogpu.yaml as types: parsed once, frozen, and trusted from then on."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from kit.units import parse_bytes, parse_count

Bytes = Annotated[int, BeforeValidator(parse_bytes), Field(ge=0)]
Count = Annotated[int, BeforeValidator(parse_count), Field(gt=0)]
Task = Literal["generate", "embed", "rerank", "classify"]
Engine = Literal["vllm", "ollama", "triton", "llamacpp"]


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=False)


class GpuWish(Frozen):
    device: str = "0"
    memory: Bytes | None = None
    reserve: Bytes | None = None
    access: Literal["nvidia", "cdi"] = "nvidia"
    mps: bool = False


class Router(Frozen):
    engine: Literal["smg", "vllm-router"] = "smg"
    bind: str = "127.0.0.1"
    port: int = Field(30000, ge=1, le=65535)
    policy: str = "round_robin"
    api_key: str | None = None
    image: str | None = None


class Adapter(Frozen):
    name: str
    source: str


class Model(Frozen):
    name: str
    source: str
    engine: Engine = "vllm"
    task: Task = "generate"
    context: Count | Literal["auto"] = "auto"
    requests: Count | Literal["auto"] = 32
    memory: Bytes | Literal["auto"] = "auto"
    weight: float = Field(1, gt=0)
    graphs: Literal["auto", "full", "small", "off"] = "auto"
    replicas: int = Field(1, ge=1)
    adapters: tuple[Adapter, ...] = ()
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    volumes: tuple[str, ...] = ()
    image: str | None = None


class Manifest(Frozen):
    name: str
    gpu: GpuWish = GpuWish()
    start: Literal["sequential", "parallel"] = "sequential"
    router: Router = Router()
    models: tuple[Model, ...] = Field(min_length=1)
