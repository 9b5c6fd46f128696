"""A pretend vLLM: argv, start-up, memory, messages, HTTP API and exits of `vllm serve`, without torch or a GPU.

The walk, as in vLLM 0.26:

    argv     `vllm serve MODEL --flags` -> Args, or argparse's error and exit 2
    models   config.json and safetensors headers -> Shape
    config   Args, Shape -> Config: defaults filled in as vLLM fills them, its refusals
    bill     Shape, Config -> bytes by cause (footprint)
    ledger   a JSON file shared by all workers stands for the driver: total, who holds what; a dead process frees
    worker   context, snapshot, load, profile, cache, graphs: the order, and the device-wide differences, of the race
    mps      NVIDIA's MPS daemon, and a worker as its client
    engine   a started worker: slots, counters, faults
    server   HTTP; generate, pooling and admin answer

It runs as `python3 -m pretend MODEL --flags` with the standard library alone. What it is told besides its flags comes
from PRETEND_* variables (settings) and can be changed while it runs (faults).
"""

VERSION = "0.26.0"
