"""What differs between the versions of vLLM that the kit plans for: one table. Pure.

Every row was read in that version's sources (0.20, 0.26 and 0.28 to 0.32; the versions between count as the row below
them, 0.27 as 0.28, which costs more).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

OLDEST, NEWEST = (0, 20), (0, 33)
# What an image counts as whose tag names no version.
DEFAULT_VERSION = (0, 26)

# Repositories whose tags are vLLM's own versions, wherever they are mirrored.
REPOSITORIES = ("vllm-openai", "vllm-cpu", "vllm-cpu-release-repo")


@dataclass(frozen=True)
class VersionTraits:
    """How one version behaves.

    `v2_runner`: dense text generation runs on the V2 model runner, whose sampler keeps penalty counters for every
    request and vocabulary entry on the card. `overlap`: batches in flight at once, which a sliding window must hold.
    `unequal_pages`: layers whose tokens cost unequal bytes form groups; else all layers keep all tokens.
    `yarn_stretches`: max_model_len is the original length x factor; else it is max_position_embeddings.
    `states_cached`: prefix caching is on where nothing says otherwise also for models with states.
    `states_per_block`: Mamba models that can keep a state for every block of a prefix (mode "all").
    `aligned_batch`: prefix caching of states needs a batch of a whole block."""

    v2_runner: bool = True
    overlap: int = 2
    unequal_pages: bool = True
    yarn_stretches: bool = True
    states_cached: bool = False
    states_per_block: bool = True
    aligned_batch: bool = True


_20 = VersionTraits(v2_runner=False, overlap=1, unequal_pages=False)
_21 = replace(_20, unequal_pages=True)
_25 = replace(_21, v2_runner=True)
_26 = replace(_25, overlap=2)
_28 = replace(_26, states_cached=True, aligned_batch=False)
_30 = replace(_28, yarn_stretches=False)
_32 = replace(_30, states_per_block=False)
TRAITS = {
    (0, 20): _20,
    (0, 21): _21,
    (0, 25): _25,
    (0, 26): _26,
    (0, 27): replace(_28, aligned_batch=True),
    (0, 28): _28,
    (0, 30): _30,
    (0, 32): _32,
}

_TAG = re.compile(r"v?(\d+)\.(\d+)(?:[.\-_].*)?")


def version_of(image: str) -> tuple[int, int] | None:
    """`vllm/vllm-openai:v0.26.0` -> (0, 26); None when the tag names no version (latest, a digest)."""
    _, colon, tag = image.partition("@")[0].rsplit("/", 1)[-1].partition(":")
    match = _TAG.fullmatch(tag) if colon else None
    return (int(match.group(1)), int(match.group(2))) if match else None


def known_repository(image: str) -> bool:
    """Whether the image is vLLM's own, or a mirror of it under the same name."""
    return image.partition("@")[0].rsplit("/", 1)[-1].partition(":")[0] in REPOSITORIES


def planned_version(image: str) -> tuple[int, int] | None:
    """The version that an image is planned as, as far as it is known."""
    found = version_of(image)
    return found if found and OLDEST <= found <= NEWEST else None


def unsupported(image: str) -> tuple[int, int] | None:
    """The version outside the range that the tag of a known repository names; None otherwise."""
    found = version_of(image)
    return found if found and known_repository(image) and not OLDEST <= found <= NEWEST else None


def traits_of(version: tuple[int, int] | None) -> VersionTraits:
    """The newest row that is not newer than `version`, else the oldest. None counts as the default version."""
    known = version or DEFAULT_VERSION
    return TRAITS[max((row for row in TRAITS if row <= known), default=min(TRAITS))]
