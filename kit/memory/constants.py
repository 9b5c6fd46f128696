"""What no formula gives: constants measured on real cards. Pure.

The fit is the least absolute relative error over the readings marked `fit` in
tests/recorded/h200-footprints.json (Qwen2.5, SmolLM2 and Llama-3.1 workers), held to -1.5% and +4.5%. Qwen3 and
Phi-3 workers are recorded there too and were never fitted on; a test holds the bill against all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from kit.units import MIB


@dataclass(frozen=True)
class Constants:
    """`context`, `runtime`, `graphs`, `fp8` and `lora` in bytes; `graph_layer` in bytes a captured size and layer;
    `logits` in bytes for each request and vocabulary entry; `activations` as a part of T x (4H + 3I) x dtype."""

    context: int
    runtime: int
    graphs: int
    graph_layer: int
    logits: float
    activations: float
    fp8: int
    lora: int
    why: str
    context_why: str


def _mib(count: float) -> int:
    return int(count * MIB)


MEASURED = "fitted on an H200"

# By compute capability, the longest match first. Only the context is known to depend on the card: 610 MiB for a bare
# CUDA context on the H200 (NVML), 0.17 to 0.25 GiB in public logs of 16 and 24 GB cards, 0.3 to 0.6 GiB in those of
# A100s.
HOPPER = Constants(
    context=_mib(610),
    runtime=_mib(238),
    graphs=_mib(65),
    graph_layer=_mib(0.235),
    logits=11.7,
    activations=0.512,
    fp8=_mib(62),
    lora=_mib(25),
    why=MEASURED,
    context_why="one CUDA context, measured on an H200",
)
OTHERS = replace(HOPPER, context=_mib(256), context_why="one CUDA context, by public logs of 16 and 24 GB cards")
A100 = replace(HOPPER, context_why="one CUDA context, as on an H200; public logs of A100s say 0.3 to 0.6 GiB")
BY_CAPABILITY = {"8.0": A100, "9.": HOPPER, "10.": HOPPER, "": OTHERS}


def constants_for(compute_capability: str | None) -> Constants:
    """The row for a card. An unknown card counts as a consumer card."""
    known = compute_capability or ""
    return BY_CAPABILITY[max((key for key in BY_CAPABILITY if known.startswith(key)), key=len)]


# Serving on the CPU: three Python processes (API server, engine core, worker) beside weights and KV cache; proportional
# set sizes of SmolLM2-135M with vLLM 0.32 on two cores were 0.62 + 0.52 + 1.30 GiB, 0.75 of it weights and KV cache.
HOST_RUNTIME = _mib(1750)
HOST_WHY = "three Python processes; measured with SmolLM2-135M, vLLM 0.32 on the CPU"
