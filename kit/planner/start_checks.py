"""What must hold between a worker's flags for vLLM to start: one table, which every plan passes before it is printed.

Pure. Each row names the versions that check it, and where. The plan's own values keep to all of them; what is left is
what the manifest's `args` say over them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kit.errors import KeyPath, Problem
from kit.manifest.model import Model
from kit.memory.bill import Share
from kit.memory.flags import read_flags, switched_off
from kit.memory.vllm_versions import NEWEST, OLDEST, planned_version
from kit.memory.worker import WorkerSettings


@dataclass(frozen=True)
class StartFlags:
    """What a worker is started with. `block` and `blocks` are those of the KV cache, 0 without one; `needed_blocks`
    the least that it starts with; `item` is the largest image or video that a batch takes whole, 0 for none."""

    context: int
    requests: int
    batched_tokens: int
    block: int
    blocks: int
    needed_blocks: int
    captured: bool
    states: bool
    aligned: bool
    chunked: bool
    item: int
    long_prefill: int
    asked_block: int


@dataclass(frozen=True)
class StartCheck:
    """`holds` must be true for versions `first` to `last`; `said` is what happens otherwise, `needed` what helps."""

    holds: Callable[[StartFlags], bool]
    said: Callable[[StartFlags], str]
    needed: Callable[[StartFlags], str]
    source: str
    first: tuple[int, int] = OLDEST
    last: tuple[int, int] = NEWEST


def _batch(what: str, least: Callable[[StartFlags], int], source: str, **versions: tuple[int, int]) -> StartCheck:
    """A batch must hold `least` tokens, because of `what`."""
    return StartCheck(
        lambda flags: flags.batched_tokens >= least(flags),
        lambda flags: f"--max-num-batched-tokens {flags.batched_tokens} is less than {what} ({least(flags)})",
        lambda flags: f"needed: {least(flags)} or more, or leave the flag out",
        source,
        **versions,
    )


CHECKS = (
    _batch("a token of each request", lambda f: f.requests, "config/scheduler.py, verify_max_model_len"),
    _batch(
        "the context, and prompts are not read in parts",
        lambda f: 0 if f.chunked else f.context,
        "config/scheduler.py, verify_max_model_len",
    ),
    _batch(
        "the largest image or video, which is read whole",
        lambda f: f.item,
        "v1/core/encoder_cache_manager.py, compute_mm_encoder_budget",
    ),
    _batch(
        "a block of the KV cache, which prefix caching of states reads whole",
        lambda f: f.block if f.aligned else 0,
        "config/vllm.py, validate_block_size",
        last=(0, 27),
    ),
    StartCheck(
        lambda f: not (f.aligned and f.item),
        lambda f: "prefix caching of states reads images in parts, and this model reads them whole",
        lambda f: "needed: --no-enable-prefix-caching",
        "config/vllm.py, validate_block_size",
    ),
    StartCheck(
        lambda f: not f.aligned or not 0 < f.long_prefill < f.block,
        lambda f: f"--long-prefill-token-threshold {f.long_prefill} is less than a block ({f.block})",
        lambda f: f"needed: {f.block} or more, or leave the flag out",
        "config/vllm.py, validate_block_size",
    ),
    StartCheck(
        lambda f: not f.states or not f.captured or f.requests <= f.blocks,
        lambda f: f"{f.requests} requests are more than the {f.blocks} blocks, of which each has one for its state",
        lambda f: f"needed: requests: {f.blocks}, graphs: off, or more memory",
        "config/compilation.py, resolve_cudagraph_mode_and_sizes",
    ),
    StartCheck(
        lambda f: f.blocks >= f.needed_blocks,
        lambda f: f"{f.blocks} blocks of KV cache do not hold a request of {f.context} tokens ({f.needed_blocks})",
        lambda f: "needed: more memory, or a shorter context",
        "v1/core/kv_cache_utils.py, _check_enough_kv_cache_memory",
    ),
    StartCheck(
        lambda f: f.asked_block % 16 == 0,
        lambda f: f"--block-size {f.asked_block} is no multiple of 16",
        lambda f: "needed: 16, 32, 64 or 128",
        "v1/attention/backends (get_supported_kernel_block_sizes)",
    ),
)


def unmet(flags: StartFlags, version: tuple[int, int] | None) -> Iterator[StartCheck]:
    """The checks that a version of vLLM would fail; all of them where it is not known."""
    asked = [check for check in CHECKS if version is None or check.first <= version <= check.last]
    return (check for check in asked if not check.holds(flags))


def problems(index: int, share: Share, setting: WorkerSettings, needed_blocks: int, image: str) -> Iterator[Problem]:
    """What of a planned worker vLLM would refuse, at the manifest's line."""
    flags = _flags(share, setting, needed_blocks)
    for check in unmet(flags, planned_version(image)):
        yield Problem(f"'{share.service}': {check.said(flags)}", check.needed(flags), path=_path(index, share.model))


def _flags(share: Share, setting: WorkerSettings, needed_blocks: int) -> StartFlags:
    """`args` come last on the command line, so what they say counts."""
    said = read_flags(share.model.args)
    off = switched_off(said)
    items = share.facts.items if share.facts else ()
    return StartFlags(
        context=share.context,
        requests=share.requests,
        batched_tokens=said.batched_tokens or share.batched_tokens,
        block=share.kv_block,
        blocks=share.kv_blocks,
        needed_blocks=needed_blocks,
        captured=bool(share.capture_sizes),
        states=any(kind.kind == "linear" for kind in (share.facts.attention if share.facts else ())),
        aligned=setting.states == "two",
        chunked=said.chunked_prefill and bool(share.facts and share.facts.attention),
        item=max((tokens for kind, tokens in items if kind not in off), default=0),
        long_prefill=said.long_prefill or 0,
        asked_block=said.block_tokens or 16,
    )


def _path(index: int, model: Model) -> KeyPath:
    return ("models", index, "args") if model.args else ("models", index)
