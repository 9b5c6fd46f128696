"""Whether a network that is there is the one that the file wants. Pure."""

from __future__ import annotations

from kit.compose.observed import ObservedState
from kit.compose.spec import NetworkSpec


def must_be_remade(network: NetworkSpec, snapshot: ObservedState) -> bool:
    """The daemon may add options of its own; those of the file must be there."""
    there = snapshot.network(network.name)
    if there is None or network.external:
        return False
    return there.internal != network.internal or not set(network.options) <= set(there.options)


def why_remade(network: NetworkSpec, snapshot: ObservedState) -> str:
    """The cause, for one that must be."""
    there = snapshot.network(network.name)
    if there and there.internal == network.internal:
        return "its options changed"
    return "must reach nothing outside" if network.internal else "must reach the outside"
