"""The cause of a worker's failure and the fix, from its log or its exit code. Pure.

The first pattern that is found explains the log, so specific patterns stand above general ones. An unknown log stays
unknown: nothing is guessed. `retryable` means that the same start may succeed a little later without a fix.
"""

from __future__ import annotations

import re

from kit.diagnostics import (
    hub_errors,
    vllm_arguments,
    vllm_exit,
    vllm_gpu,
    vllm_host,
    vllm_memory,
    vllm_model,
    vllm_mps,
)
from kit.diagnostics.pattern import MOST_READ, Explanation, Pattern, first

PATTERNS: tuple[Pattern, ...] = (
    *vllm_memory.PATTERNS,
    *vllm_mps.PATTERNS,
    *vllm_gpu.PATTERNS,
    *hub_errors.PATTERNS,
    *vllm_model.PATTERNS,
    *vllm_arguments.PATTERNS,
    *vllm_host.PATTERNS,
    *vllm_exit.PATTERNS,
)

_CODES = {
    126: ("the program in the container may not be run", "look at `entrypoint` and at the image"),
    127: ("the container has no such program", "look at `entrypoint` and at the image"),
    132: ("the processor lacks an instruction that the image was built for", "take an image built for this processor"),
    134: ("the program aborted (SIGABRT)", "its log says why"),
    137: ("it was killed", "`docker kill` does that, and so does a host that runs out of memory: `dmesg | tail`"),
    139: ("the program crashed (SIGSEGV)", "take another image, and report it to the engine's makers"),
}


# A traceback quotes source lines, also those with messages of errors that did not happen.
_QUOTED = re.compile(r'(File "[^"\n]{1,400}", line \d+, in [^\n]{1,400}\n)[^\n]*\n(?:[^\n]{0,400}\^\^[^\n]*\n)?')


def explain(log: str) -> Explanation | None:
    """What a worker's log says went wrong; None when no pattern is found."""
    return first(PATTERNS, _QUOTED.sub(r"\1", log[-MOST_READ:]))


def explain_exit(code: int, out_of_memory: bool) -> Explanation | None:
    """What an exit code means; None for codes that are the program's own."""
    if out_of_memory:
        fix = "give the host more memory or swap, or start fewer workers; weights pass through it while they load"
        return Explanation("the host ran out of memory, and the kernel killed it", fix, retryable=False)
    if code in _CODES:
        return Explanation(*_CODES[code], retryable=False)
    return None
