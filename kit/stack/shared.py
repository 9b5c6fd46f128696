"""What several services of a stack have equal is printed once, as an `x-` block that they merge by `<<`. Pure.

Only what all members of a group have equal is shared, so that a merge never has to be taken back. A merge is shallow:
a service's own `labels` would replace the block's, so the labels that all have get an anchor of their own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kit.stack.compose_keys import Keys, service_keys
from kit.stack.labels import ROLE
from kit.stack.model import Service, Stack
from kit.stack.yaml_lines import Alias, Anchored, Flow, Node

COMMON = "common"
# Mappings that may be equal in part.
_PARTLY = ("environment", "healthcheck", "labels")


@dataclass(frozen=True)
class SharedBlock:
    """Printed once as `x-NAME: &NAME`."""

    name: str
    value: Node

    @property
    def anchored(self) -> Node:
        return Anchored(self.name, self.value)


@dataclass(frozen=True)
class Layout:
    """The blocks and the texts that are printed once, and what is left of each service: merges, and what is its own."""

    blocks: tuple[SharedBlock, ...]
    texts: tuple[SharedBlock, ...]
    services: tuple[tuple[Service, Keys], ...]


def lay_out(stack: Stack) -> Layout:
    """Three levels: texts that commands repeat, what all services have equal, and what those do that are alike."""
    repeated = [each for each in stack.texts if sum(each[1] in service.command for service in stack.services) > 1]
    keys = [service_keys(service, {text: name for name, text in repeated}) for service in stack.services]
    merges: list[list[Node]] = [[] for _ in keys]
    blocks: list[SharedBlock] = []
    for name, members in _groups(stack.services).items():
        block, rests = _factor(name, [keys[member] for member in members])
        if not block:
            continue
        blocks.append(SharedBlock(name, block))
        for member, rest in zip(members, rests, strict=True):
            keys[member] = rest
            merges[member].append(Alias(name))
    own = [_merging(names) | rest for names, rest in zip(merges, keys, strict=True)]
    texts = tuple(SharedBlock(name, text) for name, text in repeated)
    return Layout(tuple(blocks), texts, tuple(zip(stack.services, own, strict=True)))


def _groups(services: Sequence[Service]) -> dict[str, list[int]]:
    """Where there are several: all services, then those of one role and one image. The second group of a role is called
    role-2."""
    alike: dict[tuple[str, str], list[int]] = {}
    for number, service in enumerate(services):
        alike.setdefault((dict(service.labels).get(ROLE, ""), service.image), []).append(number)
    found = {COMMON: list(range(len(services)))} if len(services) > 1 else {}
    for (role, _), members in alike.items():
        if len(members) > 1 and re.fullmatch("[a-z]+", role):
            taken = sum(re.fullmatch(rf"{role}(-\d+)?", name) is not None for name in found)
            found[f"{role}-{taken + 1}" if taken else role] = members
    return found


def _merging(names: list[Node]) -> Keys:
    """The merge key: of one block or of several. No block merges another: Compose 2.30.0 takes that for a circle
    (docker/compose#12247)."""
    return {"<<": Flow(names) if len(names) > 1 else names[0]} if names else {}


def _factor(name: str, members: Sequence[Keys]) -> tuple[Keys, list[Keys]]:
    """(what all members have equal, what is left of each). A mapping that is equal in part is shared among those that
    are alike, if that spares more than it costs."""
    block: Keys = {}
    rests = [dict(member) for member in members]
    for key, value in members[0].items():
        values = [member.get(key) for member in members]
        if all(one == value for one in values):
            block[key] = value
            for rest in rests:
                del rest[key]
        elif (
            name != COMMON
            and key in _PARTLY
            and len(common := _equal([one for one in values if isinstance(one, dict)], len(members))) > 1
        ):
            anchor = f"{name}-{key}"
            block[key] = Anchored(anchor, common)
            for rest, one in zip(rests, values, strict=True):
                rest[key] = _beside(anchor, common, one)
    return block, [{key: value for key, value in rest.items() if value is not None} for rest in rests]


def _equal(mappings: Sequence[Keys], wanted: int) -> Keys:
    """The entries that all have equal; none unless there are as many mappings as `wanted`."""
    if len(mappings) < wanted:
        return {}
    return {key: value for key, value in mappings[0].items() if all(one.get(key) == value for one in mappings)}


def _beside(anchor: str, common: Keys, mapping: Node) -> Node:
    """A mapping as what it adds to the `common` part; None where it adds nothing."""
    assert isinstance(mapping, dict)
    own = {key: value for key, value in mapping.items() if key not in common}
    return Flow({"<<": Alias(anchor), **own}) if own else None
