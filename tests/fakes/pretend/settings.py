"""What the pretend engine is told by the environment, besides vLLM's own flags.

    PRETEND_LEDGER             path of the card's JSON file, in a folder that all workers share; none: there is no GPU
    PRETEND_TOTAL              bytes of the card, when the file is not there yet (15.47 GiB)
    PRETEND_DEVICE             cuda, or cpu: vLLM's CPU backend, without a card
    PRETEND_WEIGHTS            bytes of the weights, whatever the model; also makes any model id known
    PRETEND_IMPORTS            seconds before the start first looks for the card and for MPS (0); a real one's take ten
    PRETEND_SPEED              seconds of each phase of the start (0.1): context, load, profile, cache, graphs
    PRETEND_HOLD               a folder; while a file named after a phase is in it, the start waits before that phase
    PRETEND_TOKENS_PER_SECOND  of one request (500); 0 is without pause
    PRETEND_TOKENS             words: a token is what stands between spaces; by default a sign is one as well
    PRETEND_STOP               seconds that SIGTERM leaves running requests (--shutdown-timeout, that is 0: abort)
    PRETEND_FREE_DELAY         seconds after a process's death until its memory is free again (0); kept in the card
    PRETEND_FAULT              what goes wrong: see faults.py
    PRETEND_FAULT_ONCE         a file: the fault strikes only while it does not exist, and makes it
    PRETEND_SHM                the folder that stands for /dev/shm, where an MPS server shares memory

vLLM's own, heeded as it heeds them: VLLM_API_KEY, VLLM_ALLOW_RUNTIME_LORA_UPDATING, VLLM_SERVER_DEV_MODE,
VLLM_CPU_KVCACHE_SPACE, VLLM_ALLOW_LONG_MAX_MODEL_LEN, HF_HOME; and CUDA's CUDA_MPS_PIPE_DIRECTORY.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True)
class Settings:
    """Seconds, bytes, tokens. `ledger` None on device cuda means: there is no GPU here."""

    device: Literal["cuda", "cpu"] = "cuda"
    ledger: Path | None = None
    total_bytes: int | None = None
    weights_bytes: int | None = None
    import_seconds: float = 0.0
    phase_seconds: float = 0.1
    hold: Path | None = None
    tokens_per_second: float = 500.0
    stop_seconds: float | None = None
    free_delay: float | None = None
    fault: str = ""
    fault_once: Path | None = None
    api_key: str | None = None
    runtime_lora: bool = False
    dev_mode: bool = False
    hf_home: Path = Path("/root/.cache/huggingface")
    cpu_kv_gib: int | None = None
    long_len_allowed: bool = False
    mps: Path | None = None
    shm: Path = Path("/dev/shm")


def _number(env: Mapping[str, str], name: str) -> float | None:
    text = env.get(name, "")
    return float(text) if text else None


def _whole(env: Mapping[str, str], name: str) -> int | None:
    text = env.get(name, "")
    return int(text) if text else None


def _path(env: Mapping[str, str], name: str) -> Path | None:
    text = env.get(name, "")
    return Path(text) if text else None


def read_settings(env: Mapping[str, str]) -> Settings:
    """The environment -> Settings. Raises ValueError for a number that is none."""
    device: Literal["cuda", "cpu"] = "cpu" if env.get("PRETEND_DEVICE", "cuda") == "cpu" else "cuda"
    tokens = _number(env, "PRETEND_TOKENS_PER_SECOND")
    phase = _number(env, "PRETEND_SPEED")
    home = Path(env.get("HOME", "/root"))
    return Settings(
        device=device,
        ledger=_path(env, "PRETEND_LEDGER"),
        total_bytes=_whole(env, "PRETEND_TOTAL"),
        weights_bytes=_whole(env, "PRETEND_WEIGHTS"),
        import_seconds=_number(env, "PRETEND_IMPORTS") or 0.0,
        phase_seconds=0.1 if phase is None else phase,
        hold=_path(env, "PRETEND_HOLD"),
        tokens_per_second=500.0 if tokens is None else tokens,
        stop_seconds=_number(env, "PRETEND_STOP"),
        free_delay=_number(env, "PRETEND_FREE_DELAY"),
        fault=env.get("PRETEND_FAULT", ""),
        fault_once=_path(env, "PRETEND_FAULT_ONCE"),
        api_key=env.get("VLLM_API_KEY") or None,
        runtime_lora=env.get("VLLM_ALLOW_RUNTIME_LORA_UPDATING", "") in ("1", "true", "True"),
        dev_mode=env.get("VLLM_SERVER_DEV_MODE", "") in ("1", "true"),
        hf_home=Path(env.get("HF_HOME") or home / ".cache" / "huggingface"),
        cpu_kv_gib=_whole(env, "VLLM_CPU_KVCACHE_SPACE"),
        long_len_allowed=env.get("VLLM_ALLOW_LONG_MAX_MODEL_LEN", "") in ("1", "true"),
        mps=_path(env, "CUDA_MPS_PIPE_DIRECTORY"),
        shm=_path(env, "PRETEND_SHM") or Path("/dev/shm"),
    )
