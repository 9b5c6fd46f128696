"""The cause of a worker's failure and the fix, from its log or its exit code. Pure.

The first pattern that is found explains the log; those marked general are tried last. An unknown log stays unknown:
nothing is guessed. `retryable` means that the same start may succeed a little later without a fix.
"""

from __future__ import annotations

import re

from kit.diagnostics import (
    docker_engine,
    docker_registry,
    docker_runtime,
    docker_toolkit,
    hub_errors,
    log_ollama,
    vllm_arguments,
    vllm_checkpoint,
    vllm_exit,
    vllm_gpu,
    vllm_host,
    vllm_kernels,
    vllm_memory,
    vllm_model,
    vllm_mps,
    vllm_processes,
    vllm_requests,
)
from kit.diagnostics.pattern import MOST_READ, Explanation, Pattern, first

ENGINES: tuple[Pattern, ...] = (
    *vllm_memory.PATTERNS,
    *vllm_mps.PATTERNS,
    *vllm_requests.PATTERNS,
    *vllm_gpu.PATTERNS,
    *vllm_kernels.PATTERNS,
    *vllm_processes.PATTERNS,
    *log_ollama.PATTERNS,
    *hub_errors.PATTERNS,
    *vllm_checkpoint.PATTERNS,
    *vllm_model.PATTERNS,
    *vllm_arguments.PATTERNS,
    *vllm_host.PATTERNS,
    *vllm_exit.PATTERNS,
)
DOCKER: tuple[Pattern, ...] = (
    *docker_toolkit.PATTERNS,
    *docker_registry.PATTERNS,
    *docker_runtime.PATTERNS,
    *docker_engine.PATTERNS,
)
PATTERNS: tuple[Pattern, ...] = (*ENGINES, *DOCKER)

_CODES = {
    126: ("the program in the container may not be run", "look at `entrypoint` and at the image"),
    127: ("the container has no such program", "look at `entrypoint` and at the image"),
    132: ("the processor lacks an instruction that the image was built for", "take an image built for this processor"),
    134: ("the program aborted (SIGABRT)", "its log says why"),
    137: ("it was killed", "`docker kill` does that, and so does a host that runs out of memory: `dmesg | tail`"),
    143: ("it was asked to end (SIGTERM)", "nothing, if you stopped it; else `docker events` names what did"),
    139: ("the program crashed (SIGSEGV)", "take another image, and report it to the engine's makers"),
}


# A traceback quotes source lines, also those with messages of errors that did not happen. Where host memory is pinned
# is visible nowhere else.
_QUOTED = re.compile(
    r'(File "[^"\n]{1,400}", line \d+, in [^\n]{1,400}\n)(?![^\n]*pin_memory)[^\n]*\n(?:[^\n]{0,400}\^\^[^\n]*\n)?'
)


# What an API server logs of each request: a client's fault, or one that the log explains elsewhere.
_ACCESS = re.compile(r'^[^\n]{0,400}"[A-Z]{3,7} \S{1,2000} HTTP/[\d.]+" \d{3}[^\n]*$', re.MULTILINE)


def explain(log: str) -> Explanation | None:
    """What a worker's log says went wrong; None when no pattern is found."""
    return first(PATTERNS, _read(log))


def remark(log: str) -> Explanation | None:
    """What the log of a worker that runs says of how it serves, such as layers that are not on the card."""
    return first([one for one in PATTERNS if one.serving], _read(log))


def _read(log: str) -> str:
    return _ACCESS.sub("", _QUOTED.sub(r"\1", log[-MOST_READ:]))


def explain_exit(code: int, out_of_memory: bool) -> Explanation | None:
    """What an exit code means; None for codes that are the program's own."""
    if out_of_memory:
        fix = "give the host more memory or swap, or start fewer workers; weights pass through it while they load"
        return Explanation("the host ran out of memory, and the kernel killed it", fix, retryable=False)
    if code in _CODES:
        return Explanation(*_CODES[code], retryable=False)
    return None
