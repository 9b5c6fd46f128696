"""The experiments, a module each. All have an OUTLINE and `protocol(request) -> Protocol`; this dict lists them."""

from __future__ import annotations

from kit.bench.experiments import contention, memory_share, mps, policy, prefix, router, startup, sweep

EXPERIMENTS = {
    "router": router,
    "sweep": sweep,
    "contention": contention,
    "prefix": prefix,
    "mps": mps,
    "memory-share": memory_share,
    "policy": policy,
    "startup": startup,
}
