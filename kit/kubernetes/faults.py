"""A crash of one worker, made from inside its container."""

from __future__ import annotations

from collections.abc import Iterator

from kit.compose.wait import Clock
from kit.errors import Problem, TargetError
from kit.kubernetes.apply import ours
from kit.kubernetes.check_stack import PrintedStack
from kit.kubernetes.cluster import Cluster, Json
from kit.kubernetes.names import COMPONENT

# Kills every process of the container but its first, which no signal from inside kills; where that is the only one, it
# is asked to end. An engine that loses its processes ends by itself.
_KILL = """\
import os, signal
mine = {1, os.getpid()}
others = [int(name) for name in os.listdir('/proc') if name.isdecimal() and int(name) not in mine]
for pid in others:
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        pass
if not others:
    os.kill(1, signal.SIGTERM)
"""


def crash(cluster: Cluster, printed: PrintedStack, worker: str, clock: Clock, seconds: float) -> None:
    """Kills a worker's engine, and returns when its container was counted as restarted. Raises TargetError."""
    before = restarts(cluster, printed, worker)
    for pod, _ in containers(cluster, printed, worker):
        cluster.exec(printed.layout.namespace, str(pod["metadata"]["name"]), worker, ("python3", "-c", _KILL))
        break
    until = clock.now() + seconds
    while restarts(cluster, printed, worker) <= before:
        if clock.now() >= until:
            raise TargetError(Problem(f"{worker} was killed, and its container did not restart in {seconds:.0f} s"))
        cluster.await_change("Pod", printed.layout.namespace, 1.0)


def restarts(cluster: Cluster, printed: PrintedStack, worker: str) -> int:
    """How often the containers of a worker were restarted, in all pods."""
    return sum(int(one.get("restartCount", 0)) for _, one in containers(cluster, printed, worker))


def containers(cluster: Cluster, printed: PrintedStack, worker: str) -> Iterator[tuple[Json, Json]]:
    """(pod, status of the container) of every pod that runs a worker."""
    labels = {**ours(printed.layout.project), COMPONENT: "worker"}
    for pod in cluster.list("Pod", printed.layout.namespace, labels):
        status = pod.get("status") or {}
        for one in (*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])):
            if one["name"] == worker and not pod["metadata"].get("deletionTimestamp"):
                yield pod, one
