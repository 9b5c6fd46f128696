"""The experiments, a module each. All have `protocol(wish) -> Protocol`; this dict is the list."""

from __future__ import annotations

from kit.bench.experiments import mps, policy, prefix, router, split, start, sweep, together

EXPERIMENTS = {
    "router": router,
    "sweep": sweep,
    "together": together,
    "prefix": prefix,
    "mps": mps,
    "split": split,
    "policy": policy,
    "start": start,
}
