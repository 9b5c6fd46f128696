"""Errors of the Docker Engine, of registries and of the NVIDIA container toolkit. Pure."""

from __future__ import annotations

from kit.diagnostics.explain import DOCKER, ENGINES
from kit.diagnostics.pattern import Explanation, Pattern, first

# A container that ended at once quotes its program in Docker's answer.
PATTERNS: tuple[Pattern, ...] = (*DOCKER, *ENGINES)


def explain(text: str) -> Explanation | None:
    """What an error of Docker means; None for an unknown one."""
    return first(PATTERNS, text)
