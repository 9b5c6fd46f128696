"""The endpoint of a stack, reached through a forwarded port, and what it answers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from kit import verify
from kit.compose.wait import Clock
from kit.errors import Problem, TargetError, VerificationError
from kit.kubernetes.apply import ours
from kit.kubernetes.check_stack import PrintedStack
from kit.kubernetes.cluster import Cluster, Json
from kit.kubernetes.names import NAME
from kit.kubernetes.render import endpoint_of

ANSWER_SECONDS = 120.0


@contextlib.contextmanager
def endpoint(cluster: Cluster, printed: PrintedStack) -> Iterator[str]:
    """The URL of the router, or of what stands in front of it. Raises TargetError where no pod of it is ready."""
    name, port = endpoint_of(printed.layout)
    at = next(one for one in printed.layout.addresses if one.name == name)
    pods = cluster.list("Pod", printed.layout.namespace, {**ours(printed.layout.project), NAME: name})
    ready = [pod for pod in pods if _is_ready(pod)]
    if not ready:
        raise TargetError(Problem(f"no pod of {name} is ready, of {len(pods)}"))
    with cluster.forward(printed.layout.namespace, str(ready[0]["metadata"]["name"]), at.target) as url:
        yield url


def _is_ready(pod: Json) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or []
    ending = pod["metadata"].get("deletionTimestamp")
    return not ending and any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions)


def verified(url: str, printed: PrintedStack, clock: Clock, patience: float, key: str | None = None) -> str:
    """How many checks passed. Raises VerificationError with those that did not."""
    import httpx

    timeout = httpx.Timeout(ANSWER_SECONDS, connect=10.0)
    with httpx.Client(timeout=timeout, trust_env=False) as http:
        checks = verify.verify(url, printed.layout.stack.probes, http, key, clock=clock, patience=patience)
    found = verify.Verification(url, checks)
    if not found.ok:
        raise VerificationError(found.problems)
    return f"{len(checks)} checks passed"
