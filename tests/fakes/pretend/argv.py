"""`vllm serve`'s command line -> Args. What vLLM's parser refuses is refused in its words, exit code 2."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from . import VERSION
from .flags import LISTS, SHORT, SWITCHES, VALUES
from .names import names
from .values import Lora, any_json, human_readable_int, human_readable_int_or_auto, lora_module

KV_DTYPES = names(
    "auto float16 bfloat16 fp8 fp8_e4m3 fp8_e5m2 fp8_inc fp8_ds_mla turboquant_k8v4 turboquant_4bit_nc "
    "turboquant_k3v4_nc turboquant_3bit_nc int4_per_token_head int8_per_token_head fp8_per_token_head nvfp4"
)
DTYPES = names("auto half float16 bfloat16 float float32")
SAME = names(
    "host port max_model_len max_num_seqs max_num_batched_tokens kv_cache_memory_bytes gpu_memory_utilization "
    "num_gpu_blocks_override block_size kv_cache_dtype dtype load_format revision enforce_eager runner convert "
    "enable_lora max_loras max_lora_rank enable_sleep_mode shutdown_timeout"
)
LORA_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
_DOTTED = re.compile(r"(-cc|--[a-zA-Z][\w-]*)\.([\w.]+)(?:=(.*))?", re.DOTALL)


@dataclass(frozen=True)
class Args:
    """What the pretend engine heeds. Sizes in bytes, lengths in tokens; None is "vLLM chooses", -1 is "auto"."""

    model: str
    served: tuple[str, ...]
    host: str | None
    port: int
    max_model_len: int | None
    max_num_seqs: int | None
    max_num_batched_tokens: int | None
    kv_cache_memory_bytes: int | None
    gpu_memory_utilization: float
    num_gpu_blocks_override: int | None
    block_size: int | None
    kv_cache_dtype: str
    dtype: str
    load_format: str
    revision: str | None
    enforce_eager: bool
    capture_sizes: tuple[int, ...] | None
    max_capture_size: int | None
    cudagraph_mode: str | None
    runner: str
    convert: str
    enable_lora: bool
    loras: tuple[Lora, ...]
    max_loras: int
    max_lora_rank: int
    enable_sleep_mode: bool
    auto_tools: bool
    prefix_caching: bool
    api_keys: tuple[str, ...]
    shutdown_timeout: int
    access_log: bool
    quiet_endpoints: frozenset[str]
    given: tuple[tuple[str, Any], ...]


def _parsers() -> tuple[argparse.ArgumentParser, argparse.ArgumentParser]:
    top = argparse.ArgumentParser(prog="vllm", description="vLLM CLI")
    top.add_argument("-v", "--version", action="version", version=VERSION)
    verbs = top.add_subparsers(required=True, dest="subparser", metavar="{serve}")
    return top, verbs.add_parser("serve", usage="vllm serve [model_tag] [options]")


def _heeded(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("model_tag", nargs="?")
    add("--model")
    add("--served-model-name", nargs="+")
    add("--host")
    add("--port", type=int, default=8000)
    add("--max-model-len", type=human_readable_int_or_auto)
    for name in ("max-num-batched-tokens", "kv-cache-memory-bytes"):
        add(f"--{name}", type=human_readable_int)
    for name in (
        "max-num-seqs",
        "num-gpu-blocks-override",
        "block-size",
        "max-cudagraph-capture-size",
        "max-cpu-loras",
    ):
        add(f"--{name}", type=int)
    add("--gpu-memory-utilization", type=float, default=0.92)
    add("--kv-cache-dtype", choices=KV_DTYPES, default="auto")
    add("--dtype", choices=DTYPES, default="auto")
    add("--load-format", default="auto")
    add("--revision")
    add("--quantization", "-q")
    add("--cudagraph-capture-sizes", type=int, nargs="+")
    add("--compilation-config", "-cc", type=any_json, default={})
    add("--runner", choices=("auto", "generate", "pooling", "draft"), default="auto")
    add("--convert", choices=("auto", "none", "embed", "classify"), default="auto")
    add("--lora-modules", type=lora_module, nargs="+", default=[])
    add("--max-loras", type=int, default=1)
    add("--max-lora-rank", type=int, choices=LORA_RANKS, default=16)
    add("--api-key", nargs="+", default=[])
    add("--tool-call-parser")
    add("--shutdown-timeout", type=int, default=0)
    add("--disable-access-log-for-endpoints", default="")
    for name in ("enforce-eager", "enable-lora", "enable-sleep-mode", "enable-auto-tool-choice"):
        add(f"--{name}", action=argparse.BooleanOptionalAction, default=False)
    add("--enable-prefix-caching", action=argparse.BooleanOptionalAction, default=True)
    add("--disable-uvicorn-access-log", action=argparse.BooleanOptionalAction, default=False)


def _ignored(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--hf-token", nargs="?", const="")
    for name in SWITCHES:
        parser.add_argument(f"--{name}", action=argparse.BooleanOptionalAction)
    for name in VALUES:
        parser.add_argument(*([SHORT[name]] if name in SHORT else []), f"--{name}")
    for name in LISTS:
        parser.add_argument(f"--{name}", nargs="+")


def _dashed(word: str) -> str:
    """`--max_model_len=1` and `--max-model-len=1` are the same flag."""
    if not word.startswith("--"):
        return word
    key, sign, value = word.partition("=")
    return key.replace("_", "-") + sign + value


def join_dotted(words: Sequence[str]) -> list[str]:
    """`-cc.cudagraph_mode NONE` -> `--compilation-config {"cudagraph_mode": "NONE"}`, as vLLM folds such flags."""
    kept: list[str] = []
    folded: dict[str, dict[str, Any]] = {}
    rest = list(words)
    while rest:
        match = _DOTTED.fullmatch(rest[0])
        word = rest.pop(0)
        if not match:
            kept.append(_dashed(word))
            continue
        name = "--compilation-config" if match[1] == "-cc" else _dashed(match[1])
        value = match[3] if match[3] is not None else (rest.pop(0) if rest else "")
        try:
            folded.setdefault(name, {})[match[2]] = json.loads(value)
        except ValueError:
            folded.setdefault(name, {})[match[2]] = value
    for name, data in folded.items():
        kept += [name, json.dumps(data)]
    return kept


def parse_args(words: Sequence[str]) -> Args:
    """The words after `vllm` (with or without `serve`) -> Args. SystemExit 2 with argparse's message otherwise."""
    words = list(words)
    if words[:1] not in (["serve"], ["-v"], ["--version"], ["-h"], ["--help"]):
        words.insert(0, "serve")
    top, parser = _parsers()
    _heeded(parser)
    _ignored(parser)
    space = top.parse_args(join_dotted(words))
    model = space.model_tag or space.model
    if not model:
        parser.error("With `vllm serve`, you should provide the model as a positional argument")
    if space.enable_auto_tool_choice and not space.tool_call_parser:
        sys.exit("TypeError: Error: --enable-auto-tool-choice requires --tool-call-parser")
    return _args(model, space, _given(parser, space))


def _given(parser: argparse.ArgumentParser, space: argparse.Namespace) -> tuple[tuple[str, Any], ...]:
    hidden = ("subparser", "api_key", "hf_token")
    changed = {k: v for k, v in vars(space).items() if k not in hidden and v != parser.get_default(k)}
    return tuple(changed.items())


def _args(model: str, space: argparse.Namespace, given: tuple[tuple[str, Any], ...]) -> Args:
    compilation = space.compilation_config
    sizes = space.cudagraph_capture_sizes or compilation.get("cudagraph_capture_sizes")
    mode = compilation.get("cudagraph_mode")
    same = {name: getattr(space, name) for name in SAME}
    return Args(
        model=model,
        served=tuple(space.served_model_name or [model]),
        capture_sizes=tuple(sizes) if sizes else None,
        max_capture_size=space.max_cudagraph_capture_size or compilation.get("max_cudagraph_capture_size"),
        cudagraph_mode=str(mode).upper() if mode is not None else None,
        loras=tuple(space.lora_modules),
        auto_tools=space.enable_auto_tool_choice,
        prefix_caching=space.enable_prefix_caching,
        api_keys=tuple(space.api_key),
        access_log=not space.disable_uvicorn_access_log,
        quiet_endpoints=frozenset(filter(None, space.disable_access_log_for_endpoints.split(","))),
        given=given,
        **same,
    )
