"""What differs between the vLLM versions the kit accepts (0.20 to 0.33), in one table. Read in their sources."""

from __future__ import annotations

import re
from dataclasses import dataclass

DEFAULT_VERSION = (0, 26)
OLDEST = (0, 20)
NEWEST = (0, 33)


@dataclass(frozen=True)
class VersionTraits:
    """How one version behaves.

    `v2_runner`: dense text generation runs on the V2 model runner, whose sampler keeps penalty counters for every
    request and vocabulary entry on the card; `null_block`: the start check counts the pool's null block;
    `overlap`: batches in flight at once, which a sliding window must hold; `big_graphs`: CUDA graphs up to batch 1024
    on data-centre Blackwell."""

    v2_runner: bool = True
    null_block: bool = False
    overlap: int = 2
    big_graphs: bool = False


WAYS = {
    (0, 20): VersionTraits(v2_runner=False, overlap=1),
    (0, 25): VersionTraits(overlap=1),
    (0, 26): VersionTraits(),
    (0, 28): VersionTraits(big_graphs=True),
    (0, 30): VersionTraits(big_graphs=True, null_block=True),
}

_TAG = re.compile(r":v?(\d+)\.(\d+)")


def version_of(image: str) -> tuple[int, int] | None:
    """`vllm/vllm-openai:v0.26.0` -> (0, 26); None when the tag names no version (latest, a digest)."""
    match = _TAG.search(image.rsplit("/", 1)[-1])
    return (int(match.group(1)), int(match.group(2))) if match else None


def traits_of(version: tuple[int, int] | None) -> VersionTraits:
    """The row that holds for `version`: the newest that is not newer. None counts as the default version."""
    asked = version or DEFAULT_VERSION
    rows = [row for row in WAYS if row <= asked]
    return WAYS[max(rows)] if rows else WAYS[OLDEST]
