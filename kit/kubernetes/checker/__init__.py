"""Judges parsed objects before any cluster does: what Pod Security's level `restricted` refuses, and what an API server
takes and a stack then dies of. Pure: nothing here knows how the objects were printed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kit.kubernetes.checker import contents, network, pods, policies, restricted, storage, workloads
from kit.kubernetes.checker.world import Fault, Rule, World

__all__ = ["RULES", "Fault", "check"]

RULES: tuple[Rule, ...] = (
    *restricted.RULES,
    *contents.RULES,
    *pods.RULES,
    *workloads.RULES,
    *storage.RULES,
    *network.RULES,
    *policies.RULES,
)


def check(objects: Iterable[Mapping[str, Any]], rules: Sequence[Rule] = RULES) -> list[Fault]:
    """Every fault of the objects of one stack, by rule."""
    world = World(tuple(objects))
    return [fault for rule in rules for fault in rule.find(world)]
